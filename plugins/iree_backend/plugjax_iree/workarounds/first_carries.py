"""Initial values of a loop that have other users: ``z = exp(w); f(fori_loop(0, 5, body, z), z)``.

A loop updates its carries in place, so IREE 3.13 copies such a value first. It schedules the copy in one partition with operations after the
loop, and refuses the program: "circular dependency: input operation uses partition output". A barrier on the value prevents this.

If two carries start with one value, IREE merges the carries in some places and not in others ("operand #4 does not dominate this use"). So
each but the first starts with a copy.
"""

from plugjax_iree.mlir import (
    BARRIER,
    Mlir,
    copy_operand,
    defining_op,
    insert_barrier,
    name_of,
    operands,
    users,
    walk,
)
from plugjax_iree.mlir.loops import WHILE

_CONSTANTS = (b"stablehlo.constant", b"stablehlo.iota")
_KNOWN = (*_CONSTANTS, BARRIER)


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers and copies; returns their number."""
    loops = [op for op in walk(mlir, module) if name_of(mlir, op) == WHILE]
    copies = sum(_separate(mlir, loop) for loop in loops)
    shared = {}
    for loop in loops:
        for value in operands(mlir, loop):
            operation = defining_op(mlir, value)
            if operation is None or len(users(mlir, value)) == 1:
                continue
            if name_of(mlir, operation) not in _KNOWN:
                shared[value] = operation
    for value, operation in shared.items():
        insert_barrier(mlir, operation, value)
    return copies + len(shared)


def _separate(mlir: Mlir, loop: int) -> int:
    """Copy a value that two carries start with; returns the number of copies."""
    last: dict[int, int] = {}
    count = 0
    for i, value in enumerate(operands(mlir, loop)):
        if value in last:
            # Copy the previous copy: equal copies would be eliminated.
            last[value] = copy_operand(mlir, loop, i, last[value])
            count += 1
        else:
            operation = defining_op(mlir, value)
            if operation is not None and name_of(mlir, operation) not in _CONSTANTS:
                last[value] = value
    return count
