"""Sorting, searching and counting."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, Tracer, from_host
from plugjax.extend.dtypes import BOOL, DType, DTypeLike
from plugjax.extend.errors import ConcretizationTypeError, NegativeSizeError
from plugjax.extend.meshes import ShardingLike
from plugjax.lax import axes
from plugjax.lax.families import size_value
from plugjax.lax.placement import freely, laid_out
from plugjax.numpy.logic import greater_equal, less
from plugjax.numpy.manipulation import canonical_axis, ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    as_operands,
    canonical_dtype,
    check_arraylike,
    converted,
    pick,
    promote_args,
    scalar,
)

__all__ = [
    "argpartition", "argsort", "argwhere", "bincount", "digitize", "flatnonzero", "index_dtype", "lexsort", "nonzero", "partition",
    "searchsorted", "sort", "sort_complex",
]  # fmt: skip


_METHODS = ("scan", "scan_unrolled", "sort", "compare_all")


def index_dtype() -> DType:
    """The dtype of indices."""
    return dtypes.canonicalize(int)


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Elements in ascending order along an axis; nan comes last.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.sort(jnp.array([3, 1, 2]))
        Array([1, 2, 3], dtype=int32)
    """
    if kind is not None or order is not None:
        raise TypeError("sort has no 'kind' and no 'order'; choose by stable=True or stable=False.")
    x = as_operand("sort", a)
    if axis is None:
        x, axis = ravel(x), 0
    position = canonical_axis(axis, x.ndim)
    found = lax.sort(x, dimension=position, is_stable=stable)
    return lax.rev(found, (position,)) if descending else found


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """Indices that sort an axis; integers of ``dtype``, of the default width if none is given.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.argsort(jnp.array([3, 1, 2]))
        Array([1, 2, 0], dtype=int32)
    """
    if kind is not None or order is not None:
        raise TypeError(
            "argsort has no 'kind' and no 'order'; choose by stable=True or stable=False."
        )
    x = as_operand("argsort", a)
    if axis is None:
        x, axis = ravel(x), 0
    position = canonical_axis(axis, x.ndim)
    if descending:
        # Equal elements keep their order: sort the reversed array, and count its indices from the
        # end.
        x = lax.rev(x, (position,))
    wanted = index_dtype() if dtype is None else canonical_dtype("argsort", dtype)
    counts = lax.broadcasted_iota(wanted, x.shape, position)
    _, found = lax.sort((x, counts), dimension=position, is_stable=stable, num_keys=1)
    if descending:
        found = lax.rev(lax.sub(scalar(x.shape[position] - 1, found), found), (position,))
    return found


def lexsort(keys: Iterable[ArrayLike], axis: int = -1) -> Array:
    """Indices that sort by several keys, the last one first.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.lexsort((jnp.array([2, 1, 3]), jnp.array([0, 0, 0])))
        Array([1, 0, 2], dtype=int32)
    """
    operands = as_operands("lexsort", *keys)
    if not operands:
        raise TypeError("lexsort: no keys came.")
    if not operands[0].ndim:
        return lax.full((), 0, index_dtype())
    position = canonical_axis(axis, operands[0].ndim)
    counts = lax.broadcasted_iota(index_dtype(), operands[0].shape, position)
    *_, found = lax.sort((*reversed(operands), counts), dimension=position, num_keys=len(operands))
    return found


def _partitioned(who: str, a: ArrayLike, kth: int, axis: int) -> tuple[Operand, int, int]:
    x = as_operand(who, a)
    if x.dtype.kind == "c":
        raise NotImplementedError(f"{who} takes real numbers; sort takes complex ones, too.")
    axis = canonical_axis(axis, x.ndim)
    size = x.shape[axis]
    if not -size <= kth < size:
        raise ValueError(f"{who}: kth={kth} does not lie in an axis of size {size}.")
    return x, kth % size + 1, axis


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The ``kth`` smallest element in its position, smaller ones before it, larger ones after it.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.partition(jnp.array([3, 1, 2]), 0)[0]
        Array(1, dtype=int32)
    """
    x, split, axis = _partitioned("partition", a, kth, axis)
    if x.dtype == BOOL:
        raise TypeError("partition takes numbers, got bools. Use sort.")
    ordered = sort(x, axis)
    low, high = (lax.slice_in_dim(ordered, i, j, axis=axis) for i, j in ((0, split), (split, None)))
    return lax.concatenate([low, lax.rev(high, (axis,))], axis)


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Indices that put the ``kth`` smallest element in its position, smaller ones before it.

    Raises:
        TypeError: bools.
        ValueError: the ``kth`` element does not exist.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.argpartition(jnp.array([3, 1, 2]), 0)
        Array([1, 0, 2], dtype=int32)
    """
    x, split, axis = _partitioned("argpartition", a, kth, axis)
    if x.dtype == BOOL:
        raise TypeError("argpartition takes numbers; argsort takes bools, too.")
    order = converted(argsort(x, axis), dtypes.INT32)
    low, high = (lax.slice_in_dim(order, i, j, axis=axis) for i, j in ((0, split), (split, None)))
    return lax.concatenate([low, sort(high, axis)], axis)


def sort_complex(a: ArrayLike) -> Array:
    """Elements sorted along the last axis, as complex numbers.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.sort_complex(jnp.array([2 + 1j, 1 + 0j]))
        Array([1.+0.j, 2.+1.j], dtype=complex64)
    """
    x = lax.sort(as_operand("sort_complex", a))
    wide = dtypes.to_inexact(x.dtype) in (dtypes.FLOAT64, dtypes.COMPLEX128)
    return converted(x, dtypes.canonicalize(dtypes.COMPLEX128 if wide else dtypes.COMPLEX64))


def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """Positions of elements of ``v`` in a sorted vector, as int32.

    Equal elements are inserted before, or after with ``side="right"``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.searchsorted(jnp.array([1, 3, 5]), 3)
        Array(1, dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', got {side!r}.")
    if method not in _METHODS:
        raise ValueError(
            f"searchsorted: method is 'scan', 'scan_unrolled', 'compare_all' or 'sort', got {method!r}."
        )
    row, query = as_operands("searchsorted", a, v)
    if row.ndim != 1:
        raise ValueError(f"searchsorted: a is a vector, got {row.aval.str_short()}")
    if sorter is not None:
        row = row[as_operand("searchsorted", sorter)]
    shape = query.shape
    row, query = promote_args("searchsorted", row, ravel(query))
    query = lax.reshape(query, shape)
    # Bisection: after k steps the answer is known up to 2**-k of the length.
    size = row.shape[0]
    low = lax.full(shape, np.int32(0))
    high = lax.full(shape, np.int32(size))
    for _ in range(size.bit_length()):
        middle = lax.add(low, lax.shift_right_logical(lax.sub(high, low), np.int32(1)))
        # A search that has ended beyond all elements reads the last, and discards it.
        place = lax.min(middle, np.int32(size - 1))
        probe = row.at[place].get(mode="clip", wrap_negative_indices=False) if size else row
        before = (
            _sorts_before(probe, query)
            if side == "left"
            else lax.bitwise_not(_sorts_before(query, probe))
        )
        open_ = lax.lt(low, high)
        low, high = (
            lax.select(lax.bitwise_and(open_, before), lax.add(middle, np.int32(1)), low),
            lax.select(lax.bitwise_and(open_, lax.bitwise_not(before)), middle, high),
        )
    return low


def _sorts_before(x: Operand, y: Operand) -> Operand:
    """``x < y`` in the order of sorting, where nan is the largest."""
    if not dtypes.is_inexact(x.dtype):
        return less(x, y)
    return lax.bitwise_or(less(x, y), lax.bitwise_and(lax.ne(y, y), lax.eq(x, x)))


def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """The number of the bin that each element falls in.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.digitize(jnp.array([0.5, 2.5]), jnp.array([0.0, 1.0, 2.0]))
        Array([1, 3], dtype=int32)
    """
    if method is not None and method not in _METHODS:
        raise ValueError(f"digitize: method is one of {_METHODS}, got {method!r}.")
    values, edges = as_operands("digitize", x, bins)
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins is a vector, got {edges}")
    if not edges.shape[0]:
        return lax.full(values.shape, 0, np.int32)
    side = "left" if right else "right"
    rising = searchsorted(edges, values, side)
    falling = lax.sub(
        scalar(edges.shape[0], rising),
        searchsorted(lax.rev(edges, (0,)), values, side),
    )
    return pick(greater_equal(edges[-1], edges[0]), rising, falling)


def _mask(who: str, a: ArrayLike) -> Operand:
    x = as_operand(who, a)
    return x if x.dtype == BOOL else lax.ne(x, scalar(0, x))


def nonzero(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> tuple[Array, ...]:
    """Indices of the elements that are not 0, one array per axis.

    Differs from NumPy:
        ``size`` makes the number of results static: surplus ones are cut, missing ones are ``fill_value`` (0 by default).

    Raises:
        ConcretizationTypeError: a traced array, and no ``size``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nonzero(jnp.array([0, 5, 0, 7]))
        (Array([1, 3], dtype=int32),)
    """
    mask = _mask("nonzero", a)
    if not mask.ndim:
        raise ValueError(
            "nonzero: a scalar has no axis to count along. Give it one: jnp.atleast_1d(x)."
        )
    if size is not None:
        size = axes.index(size)
        if size < 0:
            raise NegativeSizeError(f"nonzero: size counts results, got {size}.")
    _check_fill("nonzero", fill_value, mask.ndim)
    dtype = index_dtype()
    if isinstance(mask, Tracer):
        if size is None:
            raise ConcretizationTypeError(
                mask,
                "nonzero: under a transformation give a static size.",
            )
        return _nonzero_of_size(mask, size, fill_value)
    found = tuple(part.astype(dtype) for part in np.nonzero(np.asarray(mask)))
    if size is not None:
        given: Any = fill_value or 0
        fills = tuple(int(f) for f in (given if isinstance(given, tuple) else (given,) * mask.ndim))
        found = tuple(
            np.concatenate([part, np.full(max(0, size - len(part)), f, dtype)])[:size]
            for part, f in zip(found, fills, strict=True)
        )
    return tuple(from_host(part) for part in found)


def _check_fill(who: str, fill_value: Any, rank: int) -> None:
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * rank
    if len(fills) != rank or any(np.ndim(f) for f in fills if not isinstance(f, dict)):
        raise ValueError(
            f"{who}: fill_value is a scalar, or a tuple of one for each of {rank} axes, got {fill_value}."
        )
    check_arraylike(who, *(f for f in fills if f is not None))


def _nonzero_of_size(mask: Operand, size: int, fill_value: Any) -> tuple[Array, ...]:
    dtype = index_dtype()
    flat = converted(ravel(mask), dtype)
    total = flat.shape[0]
    if not total or not size:
        return (lax.full((size,), 0, dtype),) * mask.ndim
    # The k-th result is the number of positions whose cumulative count does not exceed k.
    counts = lax.cumsum(flat, 0)
    positions = lax.full((size + 1,), 0, dtype)
    bins = lax.clamp(dtype.type(0), counts, size_value(size, dtype))
    histogram = positions.at[bins].add(lax.full((total,), 1, dtype), mode="drop")
    flat_index = lax.slice_in_dim(lax.cumsum(histogram, 0), 0, size)
    parts = []
    rest = flat_index
    for n in reversed(mask.shape):
        parts.append(lax.rem(rest, size_value(n, dtype)))
        rest = lax.div(rest, size_value(n, dtype))
    missing = lax.ge(lax.iota(dtype, size), lax.broadcast_in_dim(counts[-1], (size,), ()))
    fills = (
        fill_value
        if isinstance(fill_value, tuple)
        else (fill_value if fill_value is not None else 0,) * mask.ndim
    )
    return tuple(
        pick(missing, converted(as_operand("nonzero", f), dtype), part)
        for f, part in zip(fills, reversed(parts), strict=True)
    )


def flatnonzero(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Array:
    """Indices into the flattened array of the elements that are not 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.flatnonzero(jnp.array([[0, 1], [2, 0]]))
        Array([1, 2], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Array:
    """Indices of the elements that are not 0, one row each.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.argwhere(jnp.array([[0, 1], [2, 0]]))
        Array([[0, 1],
               [1, 0]], dtype=int32)
    """
    x = as_operand("argwhere", a)
    if not x.ndim:
        count = int(bool(x)) if size is None else size
        return lax.full((count, 0), 0, index_dtype())
    parts = nonzero(x, size=size, fill_value=fill_value)
    return lax.concatenate([lax.expand_dims(p, (1,)) for p in parts], 1)


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Number of occurrences of each integer.

    Differs from NumPy:
        ``length`` makes the size static; numbers beyond it are left out. Negative numbers count as 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.bincount(jnp.array([0, 2, 2]), length=4)
        Array([1, 0, 2, 0], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "bincount",
            freely(bincount, x=x, weights=weights, minlength=minlength, length=length),
            out_sharding,
        )
    minlength = operator.index(minlength)
    values = as_operand("bincount", x)
    if not (dtypes.is_integer(values.dtype) or values.dtype == BOOL):
        raise TypeError(f"bincount counts integers, got dtype {values.dtype.name}")
    if values.ndim != 1:
        raise ValueError(f"bincount takes a vector, got shape {values.shape}")
    values = converted(values, dtypes.INT32)
    if length is None:
        if isinstance(values, Tracer):
            raise ConcretizationTypeError(
                values,
                "bincount: the values of x decide the shape of the result; give a static length.",
            )
        length = max(minlength, int(np.max(np.asarray(values), initial=-1)) + 1)
    counted = (
        lax.full(values.shape, 1, index_dtype())
        if weights is None
        else as_operand("bincount", weights)
    )
    if values.shape != counted.shape:
        raise ValueError(f"bincount: weights {counted.shape} and x {values.shape} differ in shape.")
    start = lax.full((length,), 0, counted.dtype)
    return start.at[lax.max(values, np.int32(0))].add(counted, mode="drop")
