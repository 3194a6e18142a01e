"""Adding and removing elements."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array, Tracer
from plugjax.extend.errors import ConcretizationTypeError
from plugjax.numpy.creation import arange, asarray, full, ones
from plugjax.numpy.joining import concatenate
from plugjax.numpy.manipulation import broadcast_to, canonical_axes, canonical_axis, moveaxis, ravel
from plugjax.numpy.promotion import ArrayLike, as_operand, converted
from plugjax.numpy.selection import clip, where
from plugjax.numpy.sorting_searching import argsort, sort

__all__ = ["delete", "insert", "trim_zeros"]


def delete(
    arr: ArrayLike,
    obj: ArrayLike | slice,
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """The array without some of its slices along an axis.

    Args:
        arr: the array; flattened without ``axis``.
        obj: index, indices, a mask, or a slice of the removed elements.
        axis: along which.
        assume_unique_indices: no index repeats; the indices may then be traced.

    Raises:
        ConcretizationTypeError: traced indices that may repeat, or a traced mask.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.delete(jnp.arange(4), jnp.array([0, 2]))
        Array([1, 3], dtype=int32)
    """
    x = as_operand("delete", arr)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis(axis, x.ndim)
    size = x.shape[axis]
    before = (slice(None),) * axis
    if isinstance(obj, slice):
        obj, assume_unique_indices = np.arange(size)[obj], True
    elif not isinstance(obj, Tracer):
        try:
            place = canonical_axis(operator.index(obj), size)  # type: ignore[arg-type]  # refused as in Python
        except TypeError:
            pass
        else:
            return concatenate(
                [x[(*before, slice(0, place))], x[(*before, slice(place + 1, None))]], axis
            )
    gone = as_operand("delete", obj)
    if gone.dtype.kind in "iu" and assume_unique_indices:
        return x[(*before, _kept(ravel(gone), size))]
    if isinstance(gone, Tracer):
        raise ConcretizationTypeError(
            gone,
            "delete: a traced obj must be integers, with assume_unique_indices=True.",
        )
    places = np.asarray(gone)
    keep = np.ones(size, bool)
    if places.dtype.kind in "iu":
        keep[places] = False
    elif places.dtype.kind != "b":
        raise ValueError(f"delete: obj has dtype {places.dtype}, neither integer nor bool.")
    elif places.shape != (size,):
        raise ValueError("delete: a mask is a vector with one bool per element of the axis.")
    else:
        keep = ~places
    return x[(*before, np.flatnonzero(keep))]


def _kept(gone: Any, size: int) -> Array:
    """Indices that remain after those of ``gone``, all different, are removed."""
    gone = sort(clip(where(gone < 0, gone + size, gone), 0, size))
    # The number of kept elements before the k-th removed one is gone[k] - k.
    thresholds = gone - arange(gone.shape[0], dtype=gone.dtype)
    left = arange(size - gone.shape[0], dtype=gone.dtype)
    return left + (left[None, :] >= thresholds[:, None]).sum(0, dtype=left.dtype)


def insert(
    arr: ArrayLike, obj: ArrayLike | slice, values: ArrayLike, axis: int | None = None
) -> Array:
    """The array with values inserted before the given indices of an axis.

    Args:
        arr: the array; flattened without ``axis``.
        obj: index, vector of indices or slice, counted in ``arr``.
        values: broadcast to the inserted slices.
        axis: along which.

    Raises:
        ValueError: ``obj`` is not made of integers, or has more than one axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.insert(jnp.arange(3), 1, 9)
        Array([0, 9, 1, 2], dtype=int32)
    """
    x, new = as_operand("insert", arr), as_operand("insert", values)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis(axis, x.ndim)
    size = x.shape[axis]
    given = np.arange(size)[obj] if isinstance(obj, slice) else obj
    places = as_operand("insert", given)
    if places.ndim > 1:
        raise ValueError(f"insert: obj is an integer, a vector of integers or a slice, got {obj}")
    if places.dtype.kind not in "iu":
        if places.size or type(obj) is Array:
            raise ValueError(f"insert: positions are integers, got {obj}")
        places = asarray(np.asarray(given, int))
    new = converted(new, x.dtype)
    new = lax.reshape(new, (*(1,) * (x.ndim - new.ndim), *new.shape))
    if places.size == 1:
        if places.ndim == 0:
            new = moveaxis(new, 0, axis)
        places = full((new.shape[axis],), ravel(places)[0])
    count = int(np.broadcast_shapes(places.shape, (new.shape[axis],))[0])
    places = clip(where(places < 0, places + size, places), 0, size)
    places = broadcast_to(places, (count,))
    places = places.at[argsort(places)].add(arange(count, dtype=places.dtype))
    old = ones(size + count, bool).at[places].set(False).nonzero(size=size)[0]
    before = (slice(None),) * axis
    shape = (*x.shape[:axis], size + count, *x.shape[axis + 1 :])
    found = lax.full(shape, 0, x.dtype).at[(*before, places)].set(new)
    return found.at[(*before, old)].set(x)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """A concrete array without zeros at the front (``"f"``) and the back (``"b"``) of its axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.trim_zeros(jnp.array([0, 1, 0, 2, 0]))
        Array([1, 0, 2], dtype=int32)
    """
    x = as_operand("trim_zeros", filt)
    if isinstance(x, Tracer):
        raise ConcretizationTypeError(
            x,
            "trim_zeros: the values of `filt` decide the shape of the result.",
        )
    axes = tuple(range(x.ndim)) if axis is None else canonical_axes(axis, x.ndim)
    front, back = "f" in trim.lower(), "b" in trim.lower()
    if not front and not back:
        return x
    index = [slice(None)] * x.ndim
    values = np.asarray(x) != 0
    for i in axes:
        places = np.flatnonzero(values.any(axis=tuple(j for j in range(x.ndim) if j != i)))
        if not len(places):
            index[i] = slice(0, 0)
        else:
            index[i] = slice(
                int(places[0]) if front else None, int(places[-1]) + 1 if back else None
            )
    return x[tuple(index)]
