"""Sets: distinct elements of arrays, and operations on them.

Their number depends on values, so without ``size`` the arrays must be concrete. With it, results have that many
elements: surplus ones are cut, missing ones are ``fill_value``, the smallest element by default.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, Tracer, from_host
from plugjax.extend.errors import ConcretizationTypeError
from plugjax.lax.axes import static_sizes
from plugjax.lax.families import size_value
from plugjax.numpy.joining import concatenate
from plugjax.numpy.manipulation import canonical_axis, moveaxis, ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    as_operands,
    check_arraylike,
    converted,
    join_dtypes,
    pick,
    promote_args,
    same_dtype,
)
from plugjax.numpy.sorting_searching import index_dtype, lexsort, nonzero, searchsorted, sort

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse",
    "unique_values",
]  # fmt: skip


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Any:
    """Sorted distinct elements, and on request first indices, inverse indices and counts.

    Differs from NumPy:
        ``size`` makes the number of results static: missing ones are ``fill_value`` (the smallest element by default).

    Raises:
        ConcretizationTypeError: a traced array, and no ``size``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.unique(jnp.array([3, 1, 3]))
        Array([1, 3], dtype=int32)
    """
    x = as_operand("unique", ar)
    if size is not None:
        (size,) = static_sizes("unique", (size,))
    wanted = (True, return_index, return_inverse, return_counts)
    if not (x.size if axis is None else x.shape[canonical_axis(axis, x.ndim)]):
        parts = _unique_of_none(x, axis, size, fill_value)
    elif isinstance(x, Tracer):
        if size is None:
            raise ConcretizationTypeError(
                x,
                "unique: under a transformation give a static size.",
            )
        values, first, inverse, counts, _ = _unique_of_size(x, axis, equal_nan, size, fill_value)
        parts = (values, first, inverse, counts)
    else:
        parts = _unique_concrete(np.asarray(x), axis, equal_nan, size, fill_value)
    found = tuple(part for part, take in zip(parts, wanted, strict=True) if take)
    return found[0] if len(found) == 1 else found


def _unique_of_none(
    x: Operand, axis: int | None, size: int | None, fill_value: Any
) -> tuple[Array, ...]:
    """Results for an empty array: padding values, and no indices and counts."""
    if size and fill_value is None:
        raise ValueError(f"unique: an empty array cannot fill size={size}; give fill_value.")
    shape = [0] if axis is None else [*x.shape]
    position = 0 if axis is None else canonical_axis(axis, x.ndim)
    shape[position] = size or 0
    value = x.dtype.type(0 if fill_value is None else fill_value)
    none = lax.full((0,), 0, index_dtype())
    inverse = lax.full(x.shape, 0, index_dtype()) if axis is None else none
    return lax.full(shape, value), none, inverse, none


def _unique_concrete(
    x: Any, axis: int | None, equal_nan: bool, size: int | None, fill_value: Any
) -> tuple[Array, ...]:
    values, first, inverse, counts = np.unique(
        x,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        axis=axis,
        equal_nan=equal_nan,
    )
    position = 0 if axis is None else axis
    if size is not None:
        missing = size - values.shape[position]
        if missing > 0:
            smallest = (
                values.take([0], position)
                if fill_value is None and values.size
                else (fill_value or 0)
            )
            shape = [
                missing if i == position % values.ndim else n for i, n in enumerate(values.shape)
            ]
            values = np.concatenate(
                [values, np.broadcast_to(np.asarray(smallest, values.dtype), shape)], position
            )
            first = np.concatenate([first, np.full(missing, first[0] if len(first) else 0)])
            counts = np.concatenate([counts, np.zeros(missing, counts.dtype)])
        else:
            values = values.take(range(size), position)
            first, counts = first[:size], counts[:size]
    dtype = index_dtype()
    indices = (np.asarray(part).astype(dtype) for part in (first, inverse, counts))
    return from_host(np.ascontiguousarray(values)), *[from_host(part) for part in indices]


def _unique_of_size(
    x: Operand, axis: int | None, equal_nan: bool, size: int, fill_value: Any
) -> tuple[Array, Array, Array, Array, Array]:
    """Distinct slices, their first indices, inverse indices, counts, and the number of distinct slices."""
    dtype = index_dtype()
    shape = x.shape
    flat = ravel(x) if axis is None else moveaxis(x, axis, 0)
    total, *rest = flat.shape
    if not flat.size:
        if size and fill_value is None:
            raise ValueError(f"unique: an empty array cannot fill size={size}; give fill_value.")
        none = lax.full((size,), 0, dtype)
        values = lax.full((size, *rest), 0 if fill_value is None else fill_value, flat.dtype)
        return values, none, lax.full((total,), 0, dtype), none, lax.full((), 0, dtype)
    columns = lax.reshape(flat, (total, math.prod(rest)))
    order = lexsort([columns[:, i] for i in reversed(range(columns.shape[1]))])
    ordered = columns[order]
    before, after = ordered[:-1], ordered[1:]
    differs = lax.ne(after, before)
    if equal_nan and dtypes.is_inexact(flat.dtype):
        both_nan = lax.bitwise_and(lax.ne(before, before), lax.ne(after, after))
        differs = lax.bitwise_and(differs, lax.bitwise_not(both_nan))
    starts = lax.concatenate([lax.full((1,), True), lax.reduce_or(differs, (1,))], 0)
    rank = lax.sub(lax.cumsum(converted(starts, dtype), 0), dtype.type(1))
    (heads,) = nonzero(starts, size=size, fill_value=total)
    present = lax.lt(heads, size_value(total, dtype))
    values = lax.reshape(ordered.at[heads].get(mode="clip"), (size, *rest))
    filler = (
        lax.reshape(ordered[0], tuple(rest))
        if fill_value is None
        else converted(as_operand("unique", fill_value), flat.dtype)
    )
    values = pick(lax.reshape(present, (size, *(1,) * len(rest))), values, filler)
    first = pick(present, order.at[heads].get(mode="clip"), order[0])
    inverse = lax.full((total,), 0, dtype).at[order].set(rank)
    counts = lax.full((size,), 0, dtype).at[rank].add(lax.full((total,), 1, dtype), mode="drop")
    if axis is None:
        inverse = lax.reshape(inverse, shape)
    else:
        values = moveaxis(values, 0, canonical_axis(axis, len(shape)))
    return values, first, inverse, counts, rank[-1] + 1


class UniqueAll(NamedTuple):
    """Result of :func:`unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Result of :func:`unique_counts`."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Result of :func:`unique_inverse`."""

    values: Array
    inverse_indices: Array


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAll:
    """Sorted distinct elements, first indices, inverse and counts (array API); every nan counts as distinct.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.unique_all(jnp.array([2, 1, 2])).values
        Array([1, 2], dtype=int32)
    """
    return UniqueAll(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCounts:
    """Sorted distinct elements and how often they occur (array API); every nan counts as distinct.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
        Array([1, 2], dtype=int32)
    """
    return UniqueCounts(
        *unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverse:
    """Sorted distinct elements, and the index of each element among them (array API).

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.unique_inverse(jnp.array([2, 1, 2])).inverse_indices
        Array([1, 0, 1], dtype=int32)
    """
    return UniqueInverse(
        *unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Sorted distinct elements (array API); every nan counts as distinct.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.unique_values(jnp.array([2, 1, 2]))
        Array([1, 2], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """For each element, whether it is among ``test_elements``.

    Args:
        element: array.
        test_elements: array.
        assume_unique: accepted as in NumPy; ignored.
        invert: whether to negate the result.
        method: ``"compare_all"``, also ``"auto"``, makes a table of all pairs; ``"sort"`` and ``"binary_search"`` sort
            and look up.

    Raises:
        ValueError: another method.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([2, 3]))
        Array([False,  True,  True], dtype=bool)
    """
    x, tests = as_operands("isin", element, test_elements)
    shape = x.shape
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"isin: method is 'auto', 'compare_all', 'binary_search' or 'sort', got {method!r}."
        )
    x, tests = promote_args("isin", ravel(x), ravel(tests))
    if method in ("binary_search", "sort") and x.size and tests.size:
        tests = sort(tests)
        place = lax.min(searchsorted(tests, x), np.int32(tests.size - 1))
        found = lax.reshape(lax.eq(tests[place], x), shape)
        return lax.bitwise_not(found) if invert else found
    both = (x.shape[0], tests.shape[0])
    same = lax.eq(lax.broadcast_in_dim(x, both, (0,)), lax.broadcast_in_dim(tests, both, (1,)))
    found = lax.reshape(lax.reduce_or(same, (1,)), shape)
    return lax.bitwise_not(found) if invert else found


def _check_concrete(who: str, *operands: Operand) -> None:
    for x in operands:
        if isinstance(x, Tracer):
            raise ConcretizationTypeError(
                x,
                f"{who}: the values decide the shape of the result; give a static size.",
            )


def _among(x: Operand, tests: Operand, valid: Operand | None) -> Operand:
    """Table of which elements of ``x`` equal which of ``tests``."""
    same = lax.eq(
        lax.broadcast_in_dim(x, (x.shape[0], tests.shape[0]), (0,)),
        lax.broadcast_in_dim(tests, (x.shape[0], tests.shape[0]), (1,)),
    )
    if valid is None:
        return same
    return lax.bitwise_and(same, lax.broadcast_in_dim(valid, same.shape, (1,)))


def _distinct(x: Operand) -> tuple[Array, Array, Array]:
    """Distinct elements with padding, first indices, and a mask without the padding."""
    values, first, _, _, count = _unique_of_size(x, None, True, x.shape[0], 0)
    return values, first, lax.iota(count.dtype, x.shape[0]) < count


def _chosen(
    x: Operand, which: Operand, size: int, fill_value: ArrayLike | None
) -> tuple[Array, Array]:
    """The first ``size`` selected elements of ``x``, and their indices; ``len(x)`` if there are no more."""
    total = x.shape[0]
    (places,) = nonzero(which, size=size, fill_value=total)
    if not total:
        return lax.full((size,), 0 if fill_value is None else fill_value, x.dtype), places
    if fill_value is None:
        # The smallest selected element; 0 if there is none.
        low = x.min(initial=x.max(), where=which)
        fill_value = pick(lax.reduce_or(which, (0,)), low, lax.full_like(low, 0))
    filler = converted(as_operand("fill_value", fill_value), x.dtype)
    return pick(places < total, x.at[places].get(mode="clip"), filler), places


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Any:
    """Sorted distinct elements that two arrays have in common.

    Args:
        ar1: an array; flattened.
        ar2: another.
        assume_unique: no element repeats in either.
        return_indices: also return the first indices of the elements in both.
        size: number of elements of the result.
        fill_value: for missing ones; the smallest element by default. Missing indices are the size of the array.

    Raises:
        ConcretizationTypeError: a traced array and no ``size``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.intersect1d(jnp.array([3, 1, 2]), jnp.array([2, 3, 5]))
        Array([2, 3], dtype=int32)
    """
    x, y = (ravel(v) for v in same_dtype("intersect1d", ar1, ar2))
    if size is None:
        _check_concrete("intersect1d", x, y)
        common_values, *host_places = np.intersect1d(
            np.asarray(x), np.asarray(y), assume_unique, return_indices=True
        )
        if not return_indices:
            return from_host(common_values)
        return (
            from_host(common_values),
            *[from_host(np.asarray(p, index_dtype())) for p in host_places],
        )
    if not x.shape[0] or not y.shape[0]:
        table = lax.full((x.shape[0], y.shape[0]), False)
        values, first, common = x, lax.iota(index_dtype(), x.shape[0]), lax.full(x.shape, False)
        others = lax.iota(index_dtype(), y.shape[0])
    else:
        values, first, valid = _distinct(x)
        tests, others, tests_valid = _distinct(y)
        table = _among(values, tests, tests_valid)
        common = lax.bitwise_and(lax.reduce_or(table, (1,)), valid)
    found, places = _chosen(values, common, size, fill_value)
    if not return_indices:
        return found
    present = places < x.shape[0]
    partner = others[table.argmax(1)] if x.shape[0] and y.shape[0] else first
    return (
        found,
        _placed(first, places, present, x.shape[0]),
        _placed(partner, places, present, y.shape[0]),
    )


def _placed(table: Operand, places: Operand, present: Operand, missing: int) -> Array:
    if not table.shape[0]:
        return lax.full(places.shape, missing, places.dtype)
    found = table.at[places].get(mode="clip")
    return pick(present, converted(found, places.dtype), places.dtype.type(missing))


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Sorted distinct elements that are in one of two arrays, but not in both. Arguments as of :func:`intersect1d`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.setxor1d(jnp.array([1, 2]), jnp.array([2, 3]))
        Array([1, 3], dtype=int32)
    """
    x, y = (ravel(v) for v in same_dtype("setxor1d", ar1, ar2))
    if size is None:
        _check_concrete("setxor1d", x, y)
        return from_host(np.setxor1d(np.asarray(x), np.asarray(y), assume_unique))
    parts, chosen = [], []
    for own, other in ((x, y), (y, x)):
        if own.shape[0]:
            values, _, valid = _distinct(own)
            shared = lax.reduce_or(_among(values, other, None), (1,))
            parts.append(values)
            chosen.append(lax.bitwise_and(valid, lax.bitwise_not(shared)))
    if not parts:
        return _chosen(x, lax.full((0,), False), size, fill_value)[0]
    left_out = lax.bitwise_not(lax.concatenate(chosen, 0))
    left_out, values = lax.sort((left_out, lax.concatenate(parts, 0)), dimension=0, num_keys=2)
    return _chosen(values, lax.bitwise_not(left_out), size, fill_value)[0]


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Sorted distinct elements of ``ar1`` that are not in ``ar2``.

    Args:
        ar1: an array; flattened.
        ar2: another.
        assume_unique: no element repeats in ``ar1``; its order is then kept.
        size: number of elements of the result.
        fill_value: for missing ones; 0 by default.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([2]))
        Array([1, 3], dtype=int32)
    """
    if fill_value is not None:
        check_arraylike("setdiff1d", fill_value)
    x, y = (ravel(v) for v in as_operands("setdiff1d", ar1, ar2))
    join_dtypes(x, y)  # Strict promotion refuses other pairs.
    if size is None:
        _check_concrete("setdiff1d", x, y)
        return from_host(np.setdiff1d(np.asarray(x), np.asarray(y), assume_unique))
    filler = 0 if fill_value is None else fill_value
    if not x.shape[0]:
        return _chosen(x, lax.full((0,), False), size, filler)[0]
    absent: Any = isin(x, y, invert=True)
    if not assume_unique:
        x, _, valid = _distinct(x)
        absent = lax.bitwise_and(isin(x, y, invert=True), valid)
    return _chosen(x, absent, size, filler)[0]


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Sorted distinct elements of two arrays.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.union1d(jnp.array([1, 2]), jnp.array([2, 3]))
        Array([1, 2, 3], dtype=int32)
    """
    parts = [ravel(x) for x in as_operands("union1d", ar1, ar2)]
    return unique(concatenate(parts), size=size, fill_value=fill_value)
