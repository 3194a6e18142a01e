"""Values that a loop begins with, and that others read as well: ``z = exp(w); f(fori_loop(0, 5, body, z), z)``.

A loop updates what it carries in place, so IREE 3.13 copies such a value first, and puts the copy before the loop together with what comes
after it: "circular dependency: input operation uses partition output". It does not if the value comes out of a barrier.

Where two carries begin with one value, it makes one carry of both in some places and not in others ("operand #4 does not dominate this
use"). So each but the first begins with a copy.
"""

from typing import Any

from plugjax_iree.loops import WHILE
from plugjax_iree.mlir import (
    BARRIER,
    Mlir,
    bar,
    borrowed,
    copy_operand,
    maker,
    name_of,
    operands,
    readers,
    walk,
)

_CONSTANTS = (b"stablehlo.constant", b"stablehlo.iota")
_KNOWN = (*_CONSTANTS, BARRIER)


def guard(invocation: Any) -> int:
    """Mends a StableHLO program that an invocation has parsed and inlined; returns how many barriers and copies it took.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
        loops = [op for op in walk(mlir, module) if name_of(mlir, op) == WHILE]
        copies = sum(_begin_apart(mlir, loop) for loop in loops)
        shared = {}
        for loop in loops:
            for value in operands(mlir, loop):
                operation = maker(mlir, value)
                if operation is None or len(readers(mlir, value)) == 1:
                    continue
                if name_of(mlir, operation) not in _KNOWN:
                    shared[value] = operation
        for value, operation in shared.items():
            bar(mlir, operation, value)
        return copies + len(shared)


def _begin_apart(mlir: Mlir, loop: int) -> int:
    """Copy what two carries begin with; returns how many copies it took."""
    last: dict[int, int] = {}
    count = 0
    for i, value in enumerate(operands(mlir, loop)):
        if value in last:
            # A copy of the copy before: equal ones would become one.
            last[value] = copy_operand(mlir, loop, i, last[value])
            count += 1
        else:
            operation = maker(mlir, value)
            if operation is not None and name_of(mlir, operation) not in _CONSTANTS:
                last[value] = value
    return count
