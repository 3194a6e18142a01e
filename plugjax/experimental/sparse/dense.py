"""Between dense arrays and BCOO buffers."""

from __future__ import annotations

import math
from typing import Any

from plugjax import lax, numpy as jnp
from plugjax.experimental.sparse.layout import (
    SparseInfo,
    bcoo_indices_properties,
    bcoo_properties,
    split_shape,
)
from plugjax.experimental.sparse.order import first_of_each
from plugjax.experimental.sparse.places import add_rows, gather_rows, set_rows, with_batch
from plugjax.extend.core import aval_of


def todense_buffers(data: Any, indices: Any, *, spinfo: SparseInfo) -> list[Any]:
    """The dense array: values added at their indices, padding dropped."""
    shape = spinfo.shape
    props = bcoo_properties(data, indices, shape)
    batch, _, _ = split_shape(shape, props)
    zeros = jnp.zeros(shape, aval_of(data).dtype)
    where, values = with_batch(indices, batch), with_batch(data, batch)
    return [add_rows(zeros, where, values, props.n_batch)]


def extract_buffers(indices: Any, arr: Any, *, assume_unique: bool) -> list[Any]:
    """Elements of a dense array at indices: 0 at padding, and at an index that occurred before."""
    shape = aval_of(arr).shape
    props = bcoo_indices_properties(indices, shape)
    batch, sparse, _ = split_shape(shape, props)
    data = gather_rows(arr, with_batch(indices, batch), props.n_batch)
    if assume_unique:
        return [data]
    first = with_batch(first_of_each(indices, sparse), batch)
    first = lax.expand_dims(first, tuple(range(first.ndim, data.ndim)))
    return [jnp.where(first, data, jnp.zeros((), data.dtype))]


def fromdense_buffers(
    mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> list[Any]:
    """The first ``nse`` elements that are not 0, in order; then padding."""
    shape = aval_of(mat).shape
    n_sparse = len(shape) - n_batch - n_dense
    batch, sparse = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
    size = math.prod(sparse)
    mask = stored(mat, n_dense).reshape((*batch, size))
    if not n_sparse:
        indices = jnp.zeros((*batch, nse, 0), index_dtype)
        slot = lax.broadcasted_iota("int32", (*batch, nse), n_batch)
        keep = (slot == 0) & mask
        data = gather_rows(mat, indices, n_batch)
        keep = lax.expand_dims(keep, tuple(range(keep.ndim, data.ndim)))
        return [jnp.where(keep, data, jnp.zeros((), data.dtype)), indices]
    wide = "int32" if size < 2**31 else "int64"
    rank = jnp.cumsum(mask, axis=n_batch, dtype=wide)
    # The rank-th stored element is at slot rank - 1; elements that are not stored have no slot.
    slot = jnp.where(mask, rank - 1, nse)[..., None]
    flat = jnp.full((*batch, nse), size, wide)
    iota = lax.broadcasted_iota(wide, (*batch, size), n_batch)
    flat = set_rows(flat, slot, iota, n_batch)
    indices = jnp.stack(unraveled(flat, sparse, index_dtype), axis=-1)
    return [gather_rows(mat, indices, n_batch), indices]


def unraveled(flat: Any, sizes: tuple[int, ...], index_dtype: Any) -> list[Any]:
    """Index columns of flat indices; beyond the end each is the size of its axis."""
    beyond = flat >= math.prod(sizes)
    found: list[Any] = []
    rest = flat
    for size in reversed(sizes):
        column = rest % max(size, 1)
        rest = rest // max(size, 1)
        found.append(jnp.where(beyond, size, column).astype(index_dtype))
    return found[::-1]


def stored(mat: Any, n_dense: int) -> Any:
    """Which elements, blocks of the dense axes, are not 0."""
    mask = mat != 0
    ndim = aval_of(mat).ndim
    return mask.any(tuple(range(ndim - n_dense, ndim))) if n_dense else mask


def count_stored(mat: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    """The number of elements that are not 0, of that batch that has most."""
    mask = stored(mat, n_dense)
    counts = mask.sum(tuple(range(n_batch, mask.ndim)))
    return counts.max(initial=0)
