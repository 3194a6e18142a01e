"""Values with several users of which one reads a part: ``y = tanh(x); y[:, [0, 0]], y``.

IREE 3.13 merges what computes the value with that user, computes the part that it reads, and gives the other users an array of which the
rest was never written. So a user that reads a part reads it from behind a barrier. Operations with one user are fused already: what such an
operation computed for its user is read, in part, by the fused one.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    defining_op,
    insert_operand_barrier,
    name_of,
    operands,
    operations,
    reads_whole_axes,
)

_OPERATION = b"linalg.generic"


def apply(mlir: Mlir, parent: int) -> int:
    """Insert barriers within an operation; returns their number."""
    count = 0
    for operation in list(operations(mlir, parent)):
        if name_of(mlir, operation) != _OPERATION:
            count += apply(mlir, operation)
            continue
        for i, value in enumerate(operands(mlir, operation)):
            origin = defining_op(mlir, value)
            if (
                origin is not None
                and name_of(mlir, origin) == _OPERATION
                and not reads_whole_axes(mlir, operation, i)
            ):
                insert_operand_barrier(mlir, operation, i, UTIL_BARRIER)
                count += 1
    return count
