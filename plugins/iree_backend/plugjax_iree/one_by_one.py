"""Each operation of a program by itself: the last resort for programs that IREE does not compile.

Most of what IREE 3.13 refuses comes of merging operations ("LLVM Translation failed", "invalid accumulator/result vector shape"), and
each of them alone is compiled well. With a barrier after each operation nothing is merged: slow, but right.
"""

from typing import Any

from plugjax_iree.mlir import Mlir, bar, borrowed, name_of, operations

_PROGRAMS = (b"func.func", b"stablehlo.while", b"stablehlo.if", b"stablehlo.case")
# Barriers would hide what the compiler needs to know of them, or stand behind another one.
_LEFT = (b"stablehlo.constant", b"stablehlo.optimization_barrier", b"flow.tensor.clone")


def keep_apart(invocation: Any) -> None:
    """Put barriers into a StableHLO program that an invocation has parsed and inlined.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
        _bar_all(mlir, module)


def _bar_all(mlir: Mlir, program: int) -> None:
    for operation in list(operations(mlir, program)):
        name = name_of(mlir, operation)
        if name in _PROGRAMS:
            _bar_all(mlir, operation)
        elif name.startswith((b"stablehlo.", b"chlo.")) and name not in _LEFT:
            for i in range(mlir.result_count(operation)):
                bar(mlir, operation, mlir.result(operation, i))
