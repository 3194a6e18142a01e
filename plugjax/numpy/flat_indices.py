"""One index per axis as an index into the flattened array, and back."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, Tracer, from_host
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import ConcretizationTypeError
from plugjax.lax import axes
from plugjax.numpy.indexing import integers
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operands,
    canonical_dtype,
    join_dtypes,
    scalar,
)
from plugjax.numpy.selection import clip

__all__ = ["ravel_multi_index", "unravel_index"]


def _size(n: Any) -> int:
    if np.ndim(n):
        raise ValueError(f"unravel_index: shape is a sequence of integers, got {n!r} among them.")
    return int(n)


def unravel_index(indices: ArrayLike, shape: int | Sequence[int]) -> tuple[Array, ...]:
    """Flat indices as one index per axis, clipped to the array.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.unravel_index(5, (2, 3))
        (Array(1, dtype=int32, weak_type=True), Array(2, dtype=int32, weak_type=True))
    """
    found = integers("unravel_index", indices)
    given = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(isinstance(n, Tracer) for n in given):
        sizes: list[Any] = [lax.convert_element_type(n, found.dtype) for n in given]
        total: Any = functools.reduce(lax.mul, sizes)
        last = lax.max(lax.sub(total, scalar(1, total)), scalar(0, total))
    else:
        sizes = [_size(n) for n in given]
        count = int(np.prod(sizes))
        total, last = scalar(count, found), scalar(max(count - 1, 0), found)
    low = scalar(0, found)
    flat = lax.select(lax.lt(found, low), lax.add(found, total), found)
    flat = lax.clamp(low, flat, last)
    parts = []
    for size in reversed(sizes):
        n = size if isinstance(size, (Array, Tracer)) else scalar(size, flat)
        parts.append(lax.rem(flat, n))
        flat = lax.div(flat, n)
    return tuple(reversed(parts))


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """One index per axis as flat indices.

    Args:
        multi_index: integers, an array for each axis.
        dims: sizes of the axes.
        mode: treatment of indices out of bounds: ``"raise"`` needs concrete ones; ``"wrap"``, ``"clip"``, ``"ignore"``.
        order: ``"C"``, the last axis counts fastest, or ``"F"``, the first one does.
        dtype: dtype of the result; by default the one that the indices promote to.

    Raises:
        ValueError: an index is out of bounds, or the dtype is not an integer, or too small for the largest index.
        TypeError: indices are not integers.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ravel_multi_index((jnp.array([1]), jnp.array([2])), (2, 3))
        Array([5], dtype=int32)
    """
    if len(multi_index) != len(dims):
        raise AssertionError(
            f"ravel_multi_index: {len(multi_index)} arrays of indices for {len(dims)} axes"
        )
    sizes = [axes.index(n) for n in dims]
    parts = as_operands("ravel_multi_index", *multi_index)
    wanted = _flat_dtype(parts, sizes, dtype)
    if any(not dtypes.is_integer(p.dtype) for p in parts):
        raise TypeError(
            f"ravel_multi_index takes integers, got {', '.join(p.dtype.name for p in parts)}."
        )
    parts = [_within(p, n, mode) for p, n in zip(parts, sizes, strict=True)]
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order is 'C' or 'F', got {order!r}.")
    strides = np.cumprod([1, *(sizes[:0:-1] if order == "C" else sizes[:-1])]).tolist()
    total = from_host(wanted.type(0))
    for part, stride in zip(parts, strides[::-1] if order == "C" else strides, strict=False):
        total = total + lax.convert_element_type(part, wanted) * stride
    return total


def _flat_dtype(parts: list[Operand], sizes: list[int], dtype: DTypeLike | None) -> DType:
    wanted = join_dtypes(0, *parts)[0]
    if dtype is not None:
        wanted = canonical_dtype("ravel_multi_index", dtype)
    if not dtypes.is_integer(wanted):
        raise ValueError(f"ravel_multi_index gives integers, not {wanted.name}.")
    if math.prod(sizes) - 1 > np.iinfo(wanted).max:
        raise ValueError(
            f"ravel_multi_index: {wanted.name} is too small for {sizes}; give a wider dtype."
        )
    return wanted


def _within(index: Operand, size: int, mode: str) -> Operand:
    if mode == "raise":
        if isinstance(index, Tracer):
            raise ConcretizationTypeError(
                index,
                "ravel_multi_index with mode='raise' needs concrete indices; use 'wrap' or 'clip'.",
            )
        values = np.asarray(index)
        if np.any((values < 0) | (values >= size)):
            raise ValueError(
                f"ravel_multi_index: an index is out of bounds of {size}; mode 'wrap' or 'clip' allows that."
            )
        return index
    if mode == "wrap":
        return index % size
    if mode == "clip":
        return clip(index, 0, size - 1)
    if mode == "ignore":
        return index
    raise ValueError(
        f"ravel_multi_index: mode is 'raise', 'wrap', 'clip' or 'ignore', got {mode!r}."
    )
