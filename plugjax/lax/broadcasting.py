"""Broadcasting of whole arrays: common shapes, the shape of another array, and repetition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    as_array,
    aval_of,
    reduce_sum_p,
    reshape_p,
)
from plugjax.extend.errors import ShapeError, SizeError
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, physical_rule
from plugjax.extend.transforms import Axis
from plugjax.lax.axes import inserted, static_sizes
from plugjax.lax.families import linear
from plugjax.lax.shape import broadcast_in_dim

rules = RuleSet(__name__)

tile_p = Primitive("tile")


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape of arrays of these shapes, by NumPy's rules.

    Raises:
        ValueError: sizes of an axis differ, and none is 1.

    Example:
        >>> from plugjax import lax
        >>> lax.broadcast_shapes((3, 1), (4,), ())
        (3, 4)
    """
    sizes = [static_sizes("broadcast_shapes", shape) for shape in shapes]
    rank = max(map(len, sizes), default=0)
    found = []
    for column in zip(*((1,) * (rank - len(s)) + s for s in sizes), strict=True):
        stretched = {size for size in column if size != 1}
        if len(stretched) > 1:
            raise SizeError(
                f"broadcast_shapes: {sizes} do not broadcast: they differ on an axis, and neither size is 1."
            )
        found.append(stretched.pop() if stretched else 1)
    return tuple(found)


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """``arr`` in the shape of another array, by NumPy's rules.

    Shapes:
        arr: -> the shape of ``like_arr``, dtype of ``arr``.

    Raises:
        ValueError: it does not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.broadcast_like(2.0, jnp.arange(3))
        Array([2., 2., 2.], dtype=float32, weak_type=True)
    """
    own, shape = aval_of(arr), aval_of(like_arr).shape
    if own.ndim > len(shape):
        raise ValueError(f"broadcast_like: shape {own.shape} has more axes than {shape}.")
    first = len(shape) - own.ndim
    if any(size not in (1, shape[first + d]) for d, size in enumerate(own.shape)):
        raise ValueError(
            f"broadcast_like: {own.str_short()} does not broadcast to {own.update(shape=shape).str_short()}."
        )
    if own.shape == shape:
        return as_array(arr, "broadcast_like")
    return broadcast_in_dim(arr, shape, range(first, len(shape)))


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """``operand`` repeated along each axis.

    Shapes:
        operand: ``[...]`` -> each size times the entry of ``reps``.

    Raises:
        TypeError: ``reps`` does not have one size for each axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.tile(jnp.array([[1, 2]]), (2, 2))
        Array([[1, 2, 1, 2],
               [1, 2, 1, 2]], dtype=int32)
    """
    return tile_p.bind(operand, reps=static_sizes("tile", reps))


@rules.define(abstract_eval, tile_p)
def _tile_aval(x: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if len(reps) != x.ndim:
        raise ShapeError(
            f"tile reps must have one entry for each axis of {x.str_short()}, got {reps}."
        )
    return x.update(shape=tuple(map(math.prod, zip(reps, x.shape, strict=True))))


@linear(rules, tile_p)
def _tile_transpose(y_bar: Any, x: Any, *, reps: tuple[int, ...]) -> tuple[Any]:
    sizes = tuple(n for pair in zip(reps, x.aval.shape, strict=True) for n in pair)
    copies = reshape_p.bind(y_bar, new_sizes=sizes)
    return (reduce_sum_p.bind(copies, axes=tuple(range(0, len(sizes), 2))),)


@rules.define(batching_rule, tile_p)
def _tile_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, reps: tuple[int, ...]
) -> tuple[Any, int]:
    return tile_p.bind(*args, reps=inserted(reps, dims[0], 1)), dims[0]


@rules.define(physical_rule, tile_p)
def _tile_physical(
    in_avals: Sequence[ShapedArray], out_avals: Any, x: Any, *, reps: tuple[int, ...]
) -> Any:
    storage = aval_of(x).ndim - in_avals[0].ndim
    return tile_p.bind(x, reps=(*reps, *(1,) * storage))
