"""Each operation of a program by itself: the last resort for programs that IREE does not compile.

IREE 3.13 refuses some of what it makes when it merges operations ("LLVM Translation failed", "invalid accumulator/result vector shape").
With a barrier after each operation nothing is merged: slow, but right.
"""

from typing import Any

from plugjax_iree.mlir import PROGRAMS, bar, borrowed, name_of, walk

# Barriers would hide what the compiler needs to know of them, or stand behind another one.
_LEFT = (b"stablehlo.constant", b"stablehlo.optimization_barrier", b"flow.tensor.clone")


def keep_apart(invocation: Any) -> None:
    """Put barriers into a StableHLO program that an invocation has parsed and inlined.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
        for operation in list(walk(mlir, module)):
            name = name_of(mlir, operation)
            if name.startswith((b"stablehlo.", b"chlo.")) and name not in (*PROGRAMS, *_LEFT):
                for i in range(mlir.result_count(operation)):
                    bar(mlir, operation, mlir.result(operation, i))
