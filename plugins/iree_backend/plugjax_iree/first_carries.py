"""Values that a loop begins with, and that others read as well: ``z = exp(w); f(fori_loop(0, 5, body, z), z)``.

A loop updates what it carries in place, so IREE 3.13 copies such a value first, and puts the copy before the loop together with what comes
after it: "circular dependency: input operation uses partition output". It does not if the value comes out of a barrier.
"""

from typing import Any

from plugjax_iree.mlir import bar, borrowed, maker, name_of, operands, readers, walk

_KNOWN = (b"stablehlo.constant", b"stablehlo.iota", b"stablehlo.optimization_barrier")


def guard(invocation: Any) -> int:
    """Mends a StableHLO program that an invocation has parsed and inlined; returns how many barriers it took.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
        shared = {}
        for loop in walk(mlir, module):
            if name_of(mlir, loop) != b"stablehlo.while":
                continue
            for value in operands(mlir, loop):
                operation = maker(mlir, value)
                if operation is None or len(readers(mlir, value)) == 1:
                    continue
                if name_of(mlir, operation) not in _KNOWN:
                    shared[value] = operation
        for value, operation in shared.items():
            bar(mlir, operation, value)
        return len(shared)
