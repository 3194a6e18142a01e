"""Slices: static ones, and windows at computed positions, read and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ArrayLike, Primitive, ShapedArray, Tracer, as_array, aval_of
from plugjax.extend.errors import ShapeError, SizeError
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, physical_rule
from plugjax.extend.transforms import Axis
from plugjax.lax import axes
from plugjax.lax.arithmetic import add
from plugjax.lax.axes import canonical_axis, inserted, static_ints, static_sizes
from plugjax.lax.comparison import lt
from plugjax.lax.conversion import convert_element_type
from plugjax.lax.families import linear, scalar
from plugjax.lax.joining import pad_p, slice_p
from plugjax.lax.selection import select
from plugjax.lax.shape import reshape, squeeze

rules = RuleSet(__name__)

dynamic_slice_p = Primitive("dynamic_slice")
dynamic_update_slice_p = Primitive("dynamic_update_slice")


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Part of an array between static bounds.

    Shapes:
        operand: ``[...]`` -> ``[..., ceil((limit - start) / stride), ...]``.

    Args:
        operand: the array.
        start_indices: first index along each axis.
        limit_indices: end along each axis, exclusive; within the array.
        strides: distance of elements along each axis; ``None`` is 1 everywhere.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.slice(jnp.arange(6), (1,), (6,), (2,))
        Array([1, 3, 5], dtype=int32)
    """
    steps = None if strides is None else static_ints("slice", "strides", strides)
    if steps and all(step == 1 for step in steps):
        steps = None
    return slice_p.bind(
        operand,
        start_indices=static_ints("slice", "start_indices", start_indices),
        limit_indices=static_ints("slice", "limit_indices", limit_indices),
        strides=steps,
    )


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """Part of an array along one axis; negative bounds count from the end, ``None`` is an end.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.slice_in_dim(jnp.arange(6), 1, 3)
        Array([1, 2], dtype=int32)
    """
    shape = aval_of(operand).shape
    axis = canonical_axis(axis, len(shape))
    size = shape[axis]

    def bound(index: int | None, default: int) -> int:
        if index is None:
            return default
        found = axes.index(index)
        return found + size if found < 0 else found

    starts = [0] * len(shape)
    limits = list(shape)
    strides = [1] * len(shape)
    starts[axis] = bound(start_index, 0)
    limits[axis] = bound(limit_index, size)
    strides[axis] = axes.index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One static index along an axis, which stays with size 1 if ``keepdims``.

    Raises:
        IndexError: the index is out of bounds.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.index_in_dim(jnp.array([5, 6, 7]), 1, keepdims=False)
        Array(6, dtype=int32)
    """
    index, axis = axes.index(index), int(axis)
    shape = aval_of(operand).shape
    axis = canonical_axis(axis, len(shape))
    size = shape[axis]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds: axis {axis} has size {size}.")
    index %= size
    result = slice_in_dim(operand, index, index + 1, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """A window of static size at a computed position, clamped to the array.

    Shapes:
        operand: ``[...]`` -> ``slice_sizes``.
        start_indices: ``[operand.ndim]``, or a sequence of scalars: integer.

    Args:
        operand: the array.
        start_indices: where the window starts.
        slice_sizes: its shape.
        allow_negative_indices: whether negative starts count from the end; a bool, or one for each axis.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.dynamic_slice(jnp.array([5, 6, 7]), (1,), (2,))
        Array([6, 7], dtype=int32)
    """
    sizes = static_sizes("dynamic_slice", slice_sizes)
    starts = _starts("dynamic_slice", aval_of(operand), start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """A window along one axis; see :func:`dynamic_slice`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.dynamic_slice_in_dim(jnp.array([5, 6, 7]), 1, 2)
        Array([6, 7], dtype=int32)
    """
    shape = aval_of(operand).shape
    axis = canonical_axis(axis, len(shape))
    sizes = (*shape[:axis], axes.index(slice_size), *shape[axis + 1 :])
    return dynamic_slice(
        operand,
        _at_axis(start_index, axis, len(shape)),
        sizes,
        allow_negative_indices=allow_negative_indices,
    )


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """One computed index along an axis, which stays with size 1 if ``keepdims``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.dynamic_index_in_dim(jnp.array([5, 6, 7]), 1)
        Array([6], dtype=int32)
    """
    axis = canonical_axis(int(axis), aval_of(operand).ndim)
    found = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return found if keepdims else squeeze(found, (axis,))


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """``operand`` with a window at a computed position replaced.

    Shapes:
        operand: ``[...]`` -> the same.
        update: of the same rank, and no larger.
        start_indices: as in :func:`dynamic_slice`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.dynamic_update_slice(jnp.array([5, 6, 7]), jnp.array([0, 0]), (1,))
        Array([5, 0, 0], dtype=int32)
    """
    starts = _starts(
        "dynamic_update_slice", aval_of(operand), start_indices, allow_negative_indices
    )
    return dynamic_update_slice_p.bind(operand, update, *starts)


def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """``operand`` with a window along one axis replaced.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.dynamic_update_slice_in_dim(jnp.array([5, 6, 7]), jnp.array([0]), 1, 0)
        Array([5, 0, 7], dtype=int32)
    """
    rank = aval_of(operand).ndim
    axis = canonical_axis(axis, rank)
    return dynamic_update_slice(
        operand,
        update,
        _at_axis(start_index, axis, rank),
        allow_negative_indices=allow_negative_indices,
    )


def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """``operand`` with the slice at one index of an axis replaced; ``update`` may lack that axis.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.dynamic_update_index_in_dim(jnp.array([5, 6, 7]), 0, 1, 0)
        Array([5, 0, 7], dtype=int32)
    """
    shape = aval_of(operand).shape
    axis = canonical_axis(int(axis), len(shape))
    sizes = aval_of(update).shape
    if len(sizes) != len(shape):
        update = reshape(update, inserted(sizes, axis, 1))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


def _at_axis(start: Any, axis: int, rank: int) -> list[Any]:
    """Starts along all axes: ``start`` along one axis, zeros of its dtype along the others."""
    zero = scalar(0, start)
    return [start if d == axis else zero for d in range(rank)]


def _starts(
    who: str, operand: ShapedArray, start_indices: Any, allow_negative: bool | Sequence[bool]
) -> list[Any]:
    """Starts as scalars of one dtype, negative ones counted from the end."""
    starts = _scalars(who, operand, start_indices)
    rank = operand.ndim
    wraps = list(allow_negative) if hasattr(allow_negative, "__iter__") else [allow_negative] * rank
    if len(wraps) != rank:
        raise ValueError(
            f"lax.{who} needs one entry of allow_negative_indices for each axis, got {len(wraps)} for shape "
            f"{operand.shape}."
        )
    for start, size, wrap in zip(starts, operand.shape, wraps, strict=True):
        if not wrap and isinstance(start, np.integer) and start < 0:
            raise ValueError(
                f"lax.{who}: index {start} of an axis of size {size} is out of bounds: allow_negative_indices=False."
            )
    return [
        _from_end(start, size) if wrap else start
        for start, size, wrap in zip(starts, operand.shape, wraps, strict=True)
    ]


def _scalars(who: str, operand: ShapedArray, start_indices: Any) -> list[Any]:
    rank = operand.ndim
    if hasattr(start_indices, "ndim"):
        if start_indices.ndim != 1:
            raise SizeError(
                f"lax.{who} needs start_indices as a vector or a sequence of scalars, got "
                f"{aval_of(start_indices).str_short()}."
            )
        count = start_indices.shape[0]
        if count == rank and isinstance(start_indices, Tracer):
            return [squeeze(slice(start_indices, (i,), (i + 1,)), (0,)) for i in range(count)]
        starts = list(np.asarray(start_indices)) if count == rank else [0] * count
    else:
        starts = [as_array(s) if axes.is_symbolic(s) else s for s in start_indices]
    if len(starts) != rank:
        raise ValueError(
            f"lax.{who}: Length of slice indices must match the number of axes, got {len(starts)} for shape {operand.shape}."
        )
    avals = [aval_of(start) for start in starts]
    strong = {aval.dtype for aval in avals if not aval.weak_type}
    if any(not dtypes.is_integer(aval.dtype) for aval in avals) or len(strong) > 1:
        names = ", ".join(aval.dtype.name for aval in avals)
        raise TypeError(f"{who} needs integers of one dtype as indices, got {names}.")
    # Python integers, which are weak, take the dtype of the others.
    dtype = strong.pop() if strong else dtypes.scalar_dtype(0)
    if dtype.itemsize < 4:
        # A narrow start dtype may not hold the size of the axis although the start is in bounds.
        dtype = dtypes.INT32
    return [
        start
        if aval.dtype == dtype and not aval.weak_type
        else dtype.type(start)
        if isinstance(start, int)
        else convert_element_type(start, dtype)
        for start, aval in zip(starts, avals, strict=True)
    ]


def _from_end(start: Any, size: int) -> Any:
    if isinstance(start, np.integer):
        if start >= 0:
            return start
        if axes.is_symbolic(size):
            return add(start, scalar(size, start))
        return start + start.dtype.type(size)
    if aval_of(start).dtype.kind == "u":
        return start
    return select(lt(start, scalar(0, start)), add(start, scalar(size, start)), start)


# slice --------------------------------------------------------------------------------------------


@rules.define(abstract_eval, slice_p)
def _slice_aval(
    x: ShapedArray,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> ShapedArray:
    steps = (1,) * x.ndim if strides is None else strides
    if not len(start_indices) == len(limit_indices) == len(steps) == x.ndim:
        raise ShapeError(
            "slice needs one start, limit and stride for each axis; got start_indices "
            f"{start_indices}, limit_indices {limit_indices}, strides {strides} for "
            f"{x.str_short()}."
        )
    bounds = zip(start_indices, limit_indices, x.shape, strict=True)
    if any(not 0 <= low <= high <= size for low, high, size in bounds):
        raise ShapeError(
            "slice needs 0 <= start <= limit <= size along each axis; got start_indices "
            f"{start_indices}, limit_indices {limit_indices} for {x.str_short()}."
        )
    if any(step < 1 for step in steps):
        raise ShapeError(f"slice needs strides >= 1, got {strides}.")
    return x.update(
        shape=tuple(
            -((low - high) // step)
            for low, high, step in zip(start_indices, limit_indices, steps, strict=True)
        )
    )


@linear(rules, slice_p)
def _slice_transpose(
    y_bar: Any,
    x: Any,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> tuple[Any]:
    steps = (1,) * len(start_indices) if strides is None else strides
    config = []
    for low, step, taken, size in zip(
        start_indices, steps, aval_of(y_bar).shape, x.aval.shape, strict=True
    ):
        reached = low + (taken - 1) * step + 1 if taken else low
        config.append((low, size - reached, step - 1))
    return (pad_p.bind(y_bar, scalar(0, y_bar), padding_config=tuple(config)),)


@rules.define(batching_rule, slice_p)
def _slice_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int],
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> tuple[Any, int]:
    (bdim,) = dims
    return slice_p.bind(
        *args,
        start_indices=inserted(start_indices, bdim, 0),
        limit_indices=inserted(limit_indices, bdim, axis.size),
        strides=None if strides is None else inserted(strides, bdim, 1),
    ), bdim


@rules.define(physical_rule, slice_p)
def _slice_physical(
    in_avals: Sequence[ShapedArray],
    out_avals: Any,
    x: Any,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Any:
    storage = aval_of(x).shape[in_avals[0].ndim :]
    return slice_p.bind(
        x,
        start_indices=(*start_indices, *(0 for _ in storage)),
        limit_indices=(*limit_indices, *storage),
        strides=None if strides is None else (*strides, *(1 for _ in storage)),
    )
