"""Repeating, shifting and differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array, Tracer
from plugjax.extend.errors import ConcretizationTypeError, DtypeError, NegativeSizeError
from plugjax.extend.meshes import ShardingLike
from plugjax.lax.axes import ShapeLike, static_ints
from plugjax.lax.placement import freely, laid_out
from plugjax.numpy.creation import asarray
from plugjax.numpy.indexing import take
from plugjax.numpy.joining import concatenate
from plugjax.numpy.manipulation import axis_tuple, canonical_axis, ravel
from plugjax.numpy.promotion import ArrayLike, as_operand, check_arraylike, converted

__all__ = ["diff", "ediff1d", "repeat", "resize", "roll", "tile"]


def tile(A: ArrayLike, reps: ShapeLike) -> Array:
    """The array repeated as a whole along each axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.tile(jnp.arange(2), 2)
        Array([0, 1, 0, 1], dtype=int32)
    """
    x = as_operand("tile", A)
    counts = static_ints("tile", "reps", reps if hasattr(reps, "__iter__") else (reps,))
    counts = (*(1,) * (x.ndim - len(counts)), *counts)
    shape = (*(1,) * (len(counts) - x.ndim), *x.shape)
    blocks = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    spread = lax.broadcast_in_dim(lax.reshape(x, shape), blocks, tuple(range(1, 2 * len(shape), 2)))
    return lax.reshape(spread, tuple(r * n for r, n in zip(counts, shape, strict=True)))


def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Each element repeated.

    Differs from NumPy:
        ``total_repeat_length`` makes the size static: missing elements repeat the last one, surplus ones are cut.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.repeat(jnp.arange(2), 2)
        Array([0, 0, 1, 1], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "repeat",
            freely(
                repeat, a=a, repeats=repeats, axis=axis, total_repeat_length=total_repeat_length
            ),
            out_sharding,
        )
    x = as_operand("repeat", a)
    check_arraylike("repeat", a, repeats)
    if axis is None:
        x, axis = ravel(x), 0
    if not x.ndim:
        x = ravel(x)
    axis = canonical_axis(axis, x.ndim)
    if total_repeat_length is not None and total_repeat_length < 0:
        raise NegativeSizeError(f"repeat: total_repeat_length={total_repeat_length} is negative.")
    if isinstance(repeats, Tracer):
        if total_repeat_length is None:
            raise ConcretizationTypeError(
                repeats,
                "repeat: traced repeats leave the size of the result open; give total_repeat_length.",
            )
        return _repeat_to_length(x, repeats, axis, total_repeat_length)
    counts = np.asarray(repeats)
    size = x.shape[axis]
    if counts.size == 1 and total_repeat_length is None:
        n = int(counts.reshape(()))
        shape = (*x.shape[: axis + 1], n, *x.shape[axis + 1 :])
        dims = tuple(i for i in range(x.ndim + 1) if i != axis + 1)
        merged = (*x.shape[:axis], size * n, *x.shape[axis + 1 :])
        return lax.reshape(lax.broadcast_in_dim(x, shape, dims), merged)
    counts = np.broadcast_to(np.atleast_1d(counts), (size,))
    chosen = np.repeat(np.arange(size), counts)
    if total_repeat_length is not None:
        fill = max(0, total_repeat_length - len(chosen))
        chosen = np.concatenate([chosen, np.full(fill, max(size - 1, 0))])[:total_repeat_length]
    return take(x, asarray(chosen.astype(np.int32)), axis, mode="clip")


def _repeat_to_length(x: Array, repeats: Any, axis: int, length: int) -> Array:
    size = x.shape[axis]
    counts = lax.broadcast_in_dim(repeats, (size,), (0,) if repeats.ndim else ())
    ends = lax.cumsum(counts, 0)
    positions = lax.broadcasted_iota(ends.dtype, (length, size), 0)
    passed = lax.ge(positions, lax.broadcast_in_dim(ends, (length, size), (1,)))
    source = lax.reduce_sum(converted(passed, np.dtype(np.int32)), (1,))
    return take(x, source, axis, mode="clip")


def roll(
    a: ArrayLike, shift: ArrayLike | Sequence[int], axis: int | Sequence[int] | None = None
) -> Array:
    """Elements shifted along axes; those shifted beyond one end enter at the other.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.roll(jnp.arange(4), 1)
        Array([3, 0, 1, 2], dtype=int32)
    """
    x = as_operand("roll", a)
    if axis is None:
        return lax.reshape(roll(ravel(x), shift, 0), x.shape)
    axes = axis_tuple(axis)
    amounts: list[Any]
    given: Any = shift
    if isinstance(given, (tuple, list)) or getattr(given, "ndim", 0) > 0:
        amounts = list(given)
    else:
        amounts = [given]
    if len(amounts) == 1:
        amounts *= len(axes)
    if len(axes) == 1:
        axes *= len(amounts)
    if len(amounts) != len(axes):
        raise ValueError(f"roll: got {len(amounts)} shifts for {len(axes)} axes.")
    for amount, i in zip(amounts, axes, strict=True):
        i = canonical_axis(i, x.ndim)
        size = x.shape[i]
        if not size:
            continue
        if isinstance(amount, Tracer):
            offset = lax.rem(
                lax.add(lax.rem(amount, amount.dtype.type(size)), amount.dtype.type(size)),
                amount.dtype.type(size),
            )
            start = lax.sub(amount.dtype.type(size), offset)
            x = lax.dynamic_slice_in_dim(lax.concatenate([x, x], i), start, size, i)
        elif cut := -int(getattr(amount, "real", amount)) % size:
            x = lax.concatenate(
                [lax.slice_in_dim(x, cut, size, axis=i), lax.slice_in_dim(x, 0, cut, axis=i)], i
            )
    return x


def resize(a: ArrayLike, new_shape: int | Sequence[int]) -> Array:
    """The elements, repeated until they fill another shape.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.resize(jnp.array([1, 2]), (3,))
        Array([1, 2, 1], dtype=int32)
    """
    x = ravel(a)
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    size = int(np.prod(shape))
    if any(n < 0 for n in shape):
        raise ValueError(f"resize: `new_shape` has no negative size, got {shape}.")
    if not size or not x.size:
        return lax.full(shape, x.dtype.type(0))
    return lax.reshape(lax.slice_in_dim(tile(x, -(-size // x.size)), 0, size), shape)


def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """``n``-th differences of neighbours along an axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.diff(jnp.array([1, 4, 9]))
        Array([3, 5], dtype=int32)
    """
    x = as_operand("diff", a)
    if n < 0:
        raise ValueError(f"diff needs n >= 0, got {n}")
    if not x.ndim:
        raise ValueError("diff: a scalar has no neighbours.")
    if n == 0:
        return x
    axis = canonical_axis(axis, x.ndim)
    edge = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    parts = [x]
    for extra, position in ((prepend, 0), (append, len(parts) + 1)):
        if extra is not None:
            extra = as_operand("diff", extra)
            parts.insert(position, extra if extra.ndim else lax.broadcast_in_dim(extra, edge, ()))
    x = concatenate(parts, axis) if len(parts) > 1 else x
    subtract = lax.ne if x.dtype.kind == "b" else lax.sub
    for _ in range(n):
        size = x.shape[axis]
        x = subtract(
            lax.slice_in_dim(x, min(1, size), size, axis=axis),
            lax.slice_in_dim(x, 0, max(size - 1, 0), axis=axis),
        )
    return x


def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Differences of neighbours of the flattened array, with values put before and after.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ediff1d(jnp.array([1, 4, 9]), to_end=0)
        Array([3, 5, 0], dtype=int32)
    """
    x = ravel(ary)
    if x.dtype == bool:
        raise DtypeError(
            "ediff1d: there are no differences of bools. Convert them with .astype(int)."
        )
    parts = [diff(x)]
    if to_begin is not None:
        parts.insert(0, converted(ravel(to_begin), x.dtype))
    if to_end is not None:
        parts.append(converted(ravel(to_end), x.dtype))
    return concatenate(parts)
