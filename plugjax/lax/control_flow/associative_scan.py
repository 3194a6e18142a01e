"""Prefix results of an associative function, in logarithmic depth.

Neighbours are combined in pairs. The prefixes of the pairs, found recursively, are the prefixes at odd positions;
combined with the next element each gives the prefix at an even position. It is ordinary code on arrays, so derivatives
and batching follow from its operations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import as_array
from plugjax.lax.families import convert
from plugjax.lax.joining import concatenate
from plugjax.lax.shape import expand_dims, reshape, rev
from plugjax.lax.slicing import slice_in_dim

Flat = Sequence[Any]


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Combine the first k elements along an axis, for every k.

    Args:
        fn: associative function of two pytrees like ``elems``, elementwise along ``axis``.
        elems: pytree of arrays with ``axis`` of one size.
        reverse: whether to start from the last element.
        axis: the axis; negative ones count from the end.

    Returns:
        Pytree like ``elems``: along the axis ``a, fn(a, b), fn(fn(a, b), c), ...``.

    Raises:
        TypeError: ``fn`` is not callable.
        ValueError: the arrays differ in size along ``axis`` or do not have it, or ``fn`` gives another structure.
        IndexError: ``elems`` has no leaves.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.associative_scan(jnp.add, jnp.arange(4))
        Array([0, 1, 3, 6], dtype=int32)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn is not callable.")
    leaves, tree = pytree.flatten(elems)
    if not leaves:
        raise IndexError("lax.associative_scan: elems has no arrays to scan.")
    values = [as_array(x, "associative_scan") for x in leaves]
    ndim = values[0].aval.ndim
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"lax.associative_scan: axis {axis} is out of bounds for elems of rank {ndim}."
        )
    axis %= ndim
    shapes = [x.aval.shape for x in values]
    if any(len(s) <= axis or s[axis] != shapes[0][axis] for s in shapes):
        raise ValueError(f"lax.associative_scan: elems differ in size along axis {axis}: {shapes}.")

    def combine(a: Flat, b: Flat) -> Flat:
        found, out_tree = pytree.flatten(fn(pytree.unflatten(tree, a), pytree.unflatten(tree, b)))
        if len(found) != len(a):
            raise ValueError(
                "lax.associative_scan: fn must give the structure that it takes: "
                + pytree.first_difference(tree, out_tree)
            )
        return found

    if reverse:
        values = [rev(x, (axis,)) for x in values]
    found = _prefixes(combine, values, axis)
    if shapes[0][axis] > 1:
        # The result is interleaved into a new array, which is not weak.
        found = [convert(x, x.aval.dtype) for x in found]
    if reverse:
        found = [rev(x, (axis,)) for x in found]
    return pytree.unflatten(tree, found)


def _prefixes(combine: Callable[[Flat, Flat], Flat], elems: Flat, axis: int) -> Flat:
    size = elems[0].aval.shape[axis]
    if size < 2:
        return elems
    part = partial(slice_in_dim, axis=axis)
    pairs = combine(
        [part(x, 0, size - 1, stride=2) for x in elems], [part(x, 1, size, stride=2) for x in elems]
    )
    odd = _prefixes(combine, pairs, axis)
    before = odd if size % 2 else [part(x, 0, size // 2 - 1) for x in odd]
    even = [part(x, 0, 1) for x in elems]
    if size > 2:
        rest = combine(before, [part(x, 2, size, stride=2) for x in elems])
        even = [concatenate([x, y], axis) for x, y in zip(even, rest, strict=True)]
    return [_interleave(x, y, axis) for x, y in zip(even, odd, strict=True)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Interleaved elements of two arrays, of which the first may have one more."""
    shape = odd.aval.shape
    count = shape[axis]
    columns = [
        expand_dims(slice_in_dim(even, 0, count, axis=axis), (axis + 1,)),
        expand_dims(odd, (axis + 1,)),
    ]
    merged = reshape(concatenate(columns, axis + 1), (*shape[:axis], 2 * count, *shape[axis + 1 :]))
    if even.aval.shape[axis] == count:
        return merged
    return concatenate([merged, slice_in_dim(even, count, count + 1, axis=axis)], axis)
