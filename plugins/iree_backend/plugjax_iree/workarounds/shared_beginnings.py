"""Concatenations that begin with the same pieces: ``jnp.stack([x, y, z]), jnp.stack([x, w, v])``.

IREE writes the pieces into an array one by one, the common ones once, and the others of both in place, maybe into one buffer: it leaves out the copy of
what has other users. So all but one of them get the common pieces written again, from behind barriers, lest they become equal.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    defining_op,
    insert_operand_barrier,
    name_of,
    named,
    users,
)
from plugjax_iree.mlir.generics import Writer

_INSERT = b"tensor.insert_slice"


def apply(mlir: Mlir, module: int) -> int:
    """Write pieces again; returns for how many operations."""
    count = 0
    for operation in named(mlir, module, _INSERT):
        begun = mlir.operand(operation, 1)
        # The last user that is left may write in place.
        if _is_begun(mlir, begun) and len(users(mlir, begun)) > 1:
            mlir.set_operand(operation, 1, _again(mlir, operation, begun))
            count += 1
    return count


def _is_begun(mlir: Mlir, value: int) -> bool:
    origin = defining_op(mlir, value)
    return origin is not None and name_of(mlir, origin) == _INSERT


def _again(mlir: Mlir, place: int, begun: int) -> int:
    """The array that has these pieces, written before an operation."""
    if not _is_begun(mlir, begun):
        return begun
    origin = defining_op(mlir, begun)
    assert origin is not None
    target = _again(mlir, place, mlir.operand(origin, 1))
    made = mlir.clone(origin)
    mlir.set_operand(made, 1, target)
    result = Writer(mlir, place).put(made)
    insert_operand_barrier(mlir, made, 0, UTIL_BARRIER)
    return result
