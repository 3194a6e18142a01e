"""Indices in order, and each only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax import lax, numpy as jnp
from plugjax.experimental.sparse.layout import (
    SparseInfo,
    bcoo_indices_properties,
    bcoo_properties,
    split_shape,
)
from plugjax.experimental.sparse.places import (
    add_rows,
    bounds,
    columns,
    common_batch,
    gather_rows,
    inside,
    set_rows,
    with_batch,
)
from plugjax.extend.core import aval_of


def _sorted(indices: Any) -> tuple[list[Any], Any]:
    """Index columns in lexicographic order, and where each row was."""
    shape = aval_of(indices).shape
    last = len(shape) - 2
    keys = [lax.squeeze(columns(indices, [c]), (last + 1,)) for c in range(shape[-1])]
    iota = lax.broadcasted_iota(aval_of(indices).dtype, shape[:-1], last)
    *found, perm = lax.sort((*keys, iota), dimension=last, num_keys=len(keys))
    return found, perm


def sort_buffers(data: Any, indices: Any, *, spinfo: SparseInfo) -> list[Any]:
    """Buffers with indices in lexicographic order."""
    props = bcoo_properties(data, indices, spinfo.shape)
    n = props.n_batch
    if not props.n_sparse:
        return [data, indices]
    found, perm = _sorted(indices)
    batch = common_batch(n, data, indices)
    where = with_batch(perm, batch)[..., None]
    return [gather_rows(with_batch(data, batch), where, n, unique=True), jnp.stack(found, axis=-1)]


class _Unique:
    """Distinct index vectors in order, padding last and merged into one.

    Attributes:
        indices: ``[batch..., nse, n_sparse]``, filled up with padding.
        mapping: for each original row, its row among those; ``[batch..., nse]``.
        first: whether a row is the first one with its indices; ``[batch..., nse]``.
        count: number of distinct indices that are no padding; ``[batch...]``.
    """

    def __init__(self, indices: Any, sparse: Sequence[int]) -> None:
        n = aval_of(indices).ndim - 2
        fill = bounds(sparse, indices)
        within = inside(indices, sparse)
        found, perm = _sorted(jnp.where(within[..., None], indices, fill))
        rows = jnp.stack(found, axis=-1)
        nse = aval_of(rows).shape[n]
        before = lax.slice_in_dim(rows, 0, max(nse - 1, 0), axis=n)
        after = lax.slice_in_dim(rows, min(1, nse), nse, axis=n)
        changes = jnp.any(before != after, axis=-1)
        head = jnp.ones((*aval_of(rows).shape[:n], min(nse, 1)), bool)
        new = lax.concatenate([head, changes], n)
        rank = jnp.cumsum(new, axis=n, dtype="int32") - 1
        blank = jnp.broadcast_to(fill, aval_of(rows).shape)
        self.indices = set_rows(blank, rank[..., None], rows, n)
        self.mapping = set_rows(jnp.zeros_like(rank), perm[..., None], rank, n)
        self.first = set_rows(jnp.zeros_like(new), perm[..., None], new, n)
        self.count = new.sum(axis=n, dtype="int32") - (~within).any(axis=n).astype("int32")


def first_of_each(indices: Any, sparse: Sequence[int]) -> Any:
    """Whether a row is the first one with its indices, ``[batch..., nse]``."""
    shape = aval_of(indices).shape
    if not shape[-1]:
        return jnp.broadcast_to(jnp.arange(shape[-2]) == 0, shape[:-1])
    return _Unique(indices, sparse).first


def count_unique(indices: Any, shape: Sequence[int]) -> Any:
    """The number of distinct index vectors within bounds, of that batch that has most."""
    props = bcoo_indices_properties(indices, shape)
    if not props.n_sparse:
        return 1
    return _Unique(indices, split_shape(shape, props)[1]).count.max(initial=0)


def sum_duplicates_buffers(data: Any, indices: Any, *, spinfo: SparseInfo, nse: int) -> list[Any]:
    """Buffers with each index once, in order, and ``nse`` rows."""
    shape = spinfo.shape
    props = bcoo_properties(data, indices, shape)
    n = props.n_batch
    _, sparse, dense = split_shape(shape, props)
    batch = common_batch(n, data, indices)
    zeros = jnp.zeros((*batch, nse, *dense), aval_of(data).dtype)
    if not props.n_sparse:
        total = data.sum(n, keepdims=True, dtype=aval_of(data).dtype)
        kept = jnp.zeros((*aval_of(indices).shape[:n], nse, 0), aval_of(indices).dtype)
        where = jnp.zeros((*batch, 1, 1), "int32")
        return [add_rows(zeros, where, with_batch(total, batch), n), kept]
    unique = _Unique(indices, sparse)
    where = with_batch(unique.mapping, batch)[..., None]
    return [
        add_rows(zeros, where, with_batch(data, batch), n),
        resized(unique.indices, nse, sparse),
    ]


def resized(indices: Any, nse: int, sparse: Sequence[int]) -> Any:
    """Indices with ``nse`` rows: cut off, or filled up with padding."""
    shape = aval_of(indices).shape
    axis = len(shape) - 2
    if nse <= shape[axis]:
        return lax.slice_in_dim(indices, 0, nse, axis=axis)
    more = jnp.broadcast_to(
        bounds(sparse, indices), (*shape[:axis], nse - shape[axis], len(sparse))
    )
    return lax.concatenate([indices, more], axis)
