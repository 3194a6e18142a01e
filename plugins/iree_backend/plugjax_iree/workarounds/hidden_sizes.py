"""Values behind barriers that several loops or branches read: ``y = optimization_barrier(x); branch(y), another_branch(y)``.

IREE 3.13 does not know the size of such a value. Its pass ``iree-util-propagate-subranges`` asks for it where a loop or a branch first reads the
value, uses the answer for the other ones too, where it may not be visible, and refuses the program: "operand #1 does not dominate this use". So
each but the first reads the value behind a barrier of its own.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    in_all,
    insert_operand_barrier,
    name_of,
    operands,
    operations,
)
from plugjax_iree.mlir.kernels import CODE
from plugjax_iree.mlir.products import sources

_VIEWS = (b"flow.tensor.reshape",)
_READERS = (
    b"scf.condition",
    b"scf.for",
    b"scf.if",
    b"scf.index_switch",
    b"scf.while",
    b"scf.yield",
)


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    readers = [
        operation
        for function in operations(mlir, module)
        if name_of(mlir, function) != CODE
        for operation in in_all(mlir, function)
        if name_of(mlir, operation) in _READERS
    ]
    count = 0
    read: set[int] = set()
    for reader in readers:
        for i, value in enumerate(operands(mlir, reader)):
            barrier = _barrier(mlir, value)
            if barrier in read:
                insert_operand_barrier(mlir, reader, i, UTIL_BARRIER)
                count += 1
            elif barrier is not None:
                read.add(barrier)
    return count


def _barrier(mlir: Mlir, value: int) -> int | None:
    """The barrier that gives a value, through views; ``None`` if another operation gives it."""
    for origin in sources(mlir, value, _VIEWS):
        if name_of(mlir, origin) == UTIL_BARRIER:
            return origin
    return None
