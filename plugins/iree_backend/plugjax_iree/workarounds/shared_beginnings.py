"""Concatenations that begin with the same pieces: ``jnp.stack([x, y, z]), jnp.stack([x, w, v])``.

IREE 3.13 writes the pieces into an array one by one, the common ones once, and the others of both in place, maybe into one buffer. So all but one of the
concatenations get the common pieces written again, from behind barriers, lest they become equal.
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
from plugjax_iree.mlir.generics import INSERT, Writer


def apply(mlir: Mlir, module: int) -> int:
    """Write pieces again; returns for how many operations."""
    count = 0
    for operation in named(mlir, module, INSERT):
        begun = mlir.operand(operation, 1)
        # The last one that is left may write in place.
        if _insertion(mlir, begun) is not None and _continuations(mlir, begun) > 1:
            mlir.set_operand(operation, 1, _again(mlir, operation, begun))
            count += 1
    return count


def _insertion(mlir: Mlir, value: int) -> int | None:
    """The operation that wrote the last piece of an array; ``None`` if there is none."""
    origin = defining_op(mlir, value)
    return origin if origin is not None and name_of(mlir, origin) == INSERT else None


def _continuations(mlir: Mlir, begun: int) -> int:
    """How many operations write a further piece into an array."""
    return sum(
        name_of(mlir, user) == INSERT and mlir.operand(user, 1) == begun
        for user in users(mlir, begun)
    )


def _again(mlir: Mlir, place: int, begun: int) -> int:
    """An array of the same pieces, written before an operation."""
    origin = _insertion(mlir, begun)
    if origin is None:
        return begun
    target = _again(mlir, place, mlir.operand(origin, 1))
    made = mlir.clone(origin)
    mlir.set_operand(made, 1, target)
    result = Writer(mlir, place).put(made)
    insert_operand_barrier(mlir, made, 0, UTIL_BARRIER)
    return result
