"""Values with several users of which one reads a part: ``y = tanh(x); y[:, [0, 0]], y``.

IREE 3.13 merges what computes the value with that user, computes the part that it reads, and gives the other users an array of which the
rest was never written. So that user reads the value behind a barrier.
"""

from plugjax_iree.mlir import (
    Mlir,
    defining_op,
    insert_operand_barrier,
    name_of,
    operands,
    operations,
    reads_whole_axes,
    users,
)

_OPERATION = b"linalg.generic"
_BARRIER = b"util.optimization_barrier"


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    return sum(_separate(mlir, operation) for operation in list(operations(mlir, module)))


def _separate(mlir: Mlir, parent: int) -> int:
    """Within one operation."""
    count = 0
    for operation in list(operations(mlir, parent)):
        if name_of(mlir, operation) != _OPERATION:
            count += _separate(mlir, operation)
            continue
        for i, value in enumerate(operands(mlir, operation)):
            origin = defining_op(mlir, value)
            if origin is None or name_of(mlir, origin) != _OPERATION:
                continue
            if len(users(mlir, value)) > 1 and not reads_whole_axes(mlir, operation, i):
                insert_operand_barrier(mlir, operation, i, _BARRIER)
                count += 1
    return count
