"""Layouts and shapes of BCOO arrays changed."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax, numpy as jnp
from plugjax.experimental.sparse.base import Shape
from plugjax.experimental.sparse.bcoo import BCOO
from plugjax.experimental.sparse.efficiency import SparseEfficiencyError, SparseEfficiencyWarning
from plugjax.experimental.sparse.functions import without_padding
from plugjax.experimental.sparse.layout import bcoo_properties, split_shape
from plugjax.experimental.sparse.places import bounds, common_batch, mapped, set_rows, with_batch
from plugjax.experimental.sparse.transposition import split_permutation


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """A BCOO array with other numbers of batch and dense axes.

    Args:
        mat: the array.
        n_batch: number of batch axes; by default as it is.
        n_dense: number of dense axes; by default as it is.
        on_inefficient: what to do if the layout stores many zeros: ``"error"``, ``"warn"`` or ``None``.

    Raises:
        SparseEfficiencyError: the layout is inefficient.
        ValueError: numbers of axes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.eye(3), n_batch=1)
        >>> M, sparse.bcoo_update_layout(M, n_batch=0)
        (BCOO(float32[3, 3], nse=1, n_batch=1), BCOO(float32[3, 3], nse=3))
    """
    n_batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    n_dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if (n_batch, n_dense) == (mat.n_batch, mat.n_dense):
        return mat
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            f"bcoo_update_layout: {on_inefficient=}; expected one of 'error', 'warn', None."
        )
    if n_batch < 0:
        raise ValueError(f"bcoo_update_layout: n_batch must be non-negative; got {n_batch}.")
    if n_dense < 0:
        raise ValueError(f"bcoo_update_layout: n_dense must be non-negative; got {n_dense}.")
    if n_batch + n_dense > mat.ndim:
        raise ValueError(
            f"bcoo_update_layout: sum of {n_batch=} and {n_dense=} cannot be larger than {mat.ndim=}."
        )
    shape = mat.shape
    for name, wanted, present, sizes in (
        ("n_dense", n_dense, mat.n_dense, shape[mat.ndim - n_dense : mat.ndim - mat.n_dense]),
        ("n_batch", n_batch, mat.n_batch, shape[mat.n_batch : n_batch]),
    ):
        if wanted > present and any(size > 1 for size in sizes):
            _report(shape, name, present, wanted, on_inefficient)
    if n_dense < mat.n_dense:
        mat = _fewer_dense(mat, mat.n_dense - n_dense)
    if n_batch < mat.n_batch:
        mat = _fewer_batch(mat, mat.n_batch - n_batch)
    if n_dense > mat.n_dense:
        mat = _more_dense(mat, n_dense - mat.n_dense)
    if n_batch > mat.n_batch:
        mat = _more_batch(mat, n_batch - mat.n_batch)
    return mat


def _report(shape: Shape, name: str, present: int, wanted: int, on_inefficient: str | None) -> None:
    text = (
        f"bcoo_update_layout: for an array of shape {shape}, increasing {name} from {present} to {wanted} results in "
        "inefficient storage."
    )
    if on_inefficient == "error":
        raise SparseEfficiencyError(f"{text} To accept it, pass on_inefficient='warn' or None.")
    if on_inefficient == "warn":
        warnings.warn(
            f"{text} To accept it without a warning, pass on_inefficient=None.",
            SparseEfficiencyWarning,
            stacklevel=3,
        )


def _grid(sizes: Sequence[int], dtype: Any) -> Any:
    """All index vectors of an array of these sizes, in order; ``[prod(sizes), len(sizes)]``."""
    return np.indices(tuple(sizes)).reshape(len(sizes), -1).T.astype(dtype)


def _fewer_dense(mat: BCOO, count: int) -> BCOO:
    """The first ``count`` dense axes become sparse: each stored block becomes one row for each of its positions."""
    n = mat.n_batch
    sizes = mat.data.shape[n + 1 : n + 1 + count]
    block = math.prod(sizes)
    data, indices = mat.data, mat.indices
    data = data.reshape((*data.shape[:n], data.shape[n] * block, *data.shape[n + 1 + count :]))
    grid = _grid(sizes, indices.dtype)
    lead = (*indices.shape[:-1], block)
    parts = [
        jnp.broadcast_to(indices[..., None, :], (*lead, indices.shape[-1])),
        jnp.broadcast_to(grid, (*lead, count)),
    ]
    joined = lax.concatenate(parts, len(lead))
    indices = joined.reshape((*indices.shape[:n], mat.nse * block, joined.shape[-1]))
    return BCOO((data, indices), shape=mat.shape)


def _fewer_batch(mat: BCOO, count: int) -> BCOO:
    """The last ``count`` batch axes become sparse: rows of all their instances follow one another."""
    n = mat.n_batch - count
    sizes = mat.shape[n : mat.n_batch]
    data, indices = mat._bufs
    data = with_batch(data, (*data.shape[:n], *sizes))
    indices = with_batch(indices, (*indices.shape[:n], *sizes))
    rows = math.prod(sizes) * mat.nse
    grid = _grid(sizes, indices.dtype).reshape((*sizes, 1, count))
    where = jnp.broadcast_to(grid, (*indices.shape[:-1], count))
    joined = lax.concatenate([where, indices], indices.ndim - 1)
    return BCOO(
        (
            data.reshape((*data.shape[:n], rows, *data.shape[mat.n_batch + 1 :])),
            joined.reshape((*joined.shape[:n], rows, joined.shape[-1])),
        ),
        shape=mat.shape,
    )


def _more_dense(mat: BCOO, count: int) -> BCOO:
    """The last ``count`` sparse axes become dense: each row becomes a block with one element that is not 0."""
    n, kept = mat.n_batch, mat.n_sparse - count
    data, indices = mat._bufs
    batch = common_batch(n, data, indices)
    data, indices = with_batch(data, batch), with_batch(indices, batch)
    sizes = mat.shape[n + kept : n + mat.n_sparse]
    zeros = jnp.zeros((*batch, mat.nse, *sizes, *data.shape[n + 1 :]), data.dtype)
    placed = set_rows(
        zeros, indices[..., None, kept:], data[(slice(None),) * (n + 1) + (None,)], n + 1
    )
    return BCOO((placed, indices[..., :kept]), shape=mat.shape)


def _more_batch(mat: BCOO, count: int) -> BCOO:
    """The first ``count`` sparse axes become batch axes: each instance has room for all rows."""
    n = mat.n_batch
    sizes = mat.shape[n : n + count]

    def spread(data: Any, indices: Any) -> tuple[Any, Any]:
        nse = indices.shape[0]
        slot = lax.broadcasted_iota(indices.dtype, (nse, 1), 0)
        where = lax.concatenate([indices[:, :count], slot], 1)
        zeros = jnp.zeros((*sizes, nse, *data.shape[1:]), data.dtype)
        rest = indices[:, count:]
        return set_rows(zeros, where, data), jnp.broadcast_to(rest, (*sizes, *rest.shape))

    return BCOO(mapped(spread, n)(*mat._bufs), shape=mat.shape)


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Shape, broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """``lax.broadcast_in_dim`` of a BCOO array.

    Args:
        mat: the array.
        shape: of the result.
        broadcast_dimensions: where its axes go. New axes before its sparse ones are batch axes, those after its first dense
            one dense, and those between sparse, which must have size 1.
        sharding: not used.

    Raises:
        NotImplementedError: a new sparse axis has another size than 1.
        ValueError: axes of different kinds would mix.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 2.0]))
        >>> sparse.bcoo_broadcast_in_dim(M, shape=(3, 2), broadcast_dimensions=(1,))
        BCOO(float32[3, 2], nse=1, n_batch=1)
    """
    del sharding
    if len(mat.shape) != len(broadcast_dimensions):
        raise ValueError(
            f"bcoo_broadcast_in_dim: shape {mat.shape} and {broadcast_dimensions=} must have the same length."
        )
    shape, dims = tuple(shape), tuple(broadcast_dimensions)
    props = bcoo_properties(*mat._bufs, mat.shape)
    batch, inner, dense = split_shape(dims, props)
    if max(batch, default=0) > min(inner, default=len(shape)):
        raise ValueError(
            f"bcoo_broadcast_in_dim: Cannot mix batch and sparse dimensions; got {dims} for {props}."
        )
    if max(inner, default=0) > min(dense, default=len(shape)):
        raise ValueError(
            f"bcoo_broadcast_in_dim: Cannot mix sparse and dense dimensions; got {dims} for {props}."
        )
    n_batch = min(dims[props.n_batch :], default=len(shape))
    n_dense = len(shape) - min(dense) if dense else 0
    n_sparse = len(shape) - n_batch - n_dense
    old = mat.shape[props.n_batch : props.n_batch + props.n_sparse]
    if math.prod(old) != math.prod(shape[n_batch : n_batch + n_sparse]):
        raise NotImplementedError(
            f"bcoo_broadcast_in_dim: Adding sparse dimensions with lengths != 1: {mat.shape} to {shape}. Use update_layout "
            "first."
        )
    data, indices = mat._bufs
    if (n_batch, n_dense) != (props.n_batch, props.n_dense):
        data = lax.broadcast_in_dim(
            data,
            (*shape[:n_batch], mat.nse, *shape[n_batch + n_sparse :]),
            (*batch, n_batch, *(d + 1 - n_sparse for d in dense)),
        )
        indices = lax.broadcast_in_dim(
            indices,
            (*shape[:n_batch], mat.nse, props.n_sparse),
            (*batch, n_batch, n_batch + 1),
        )
    if n_sparse != props.n_sparse:
        # A row that is padding stays out of bounds at its old axes.
        zero = jnp.zeros((*indices.shape[:-1], 1), indices.dtype)
        placed = {d - n_batch: indices[..., c : c + 1] for c, d in enumerate(inner)}
        parts = [placed.get(c, zero) for c in range(n_sparse)]
        indices = lax.concatenate(parts, indices.ndim - 1)
    return BCOO((data, indices), shape=shape)


def bcoo_reshape(
    mat: BCOO,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: Any = None,
) -> BCOO:
    """``lax.reshape`` of a BCOO array. Batch, sparse and dense axes keep apart.

    Args:
        mat: the array.
        new_sizes: shape of the result.
        dimensions: the order in which axes are read.
        sharding: not used.

    Raises:
        ValueError: axes of different kinds would mix.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 0.0, 0.0, 5.0]))
        >>> sparse.bcoo_reshape(M, new_sizes=(2, 2)).indices
        Array([[1, 1]], dtype=int32)
    """
    del sharding
    data, indices = mat._bufs
    props = bcoo_properties(data, indices, mat.shape)
    n = props.n_batch
    if indices.shape[:n] != data.shape[:n] != mat.shape[:n]:
        raise NotImplementedError(
            "bcoo_reshape: reshape of arrays with broadcasted batch dimensions."
        )
    batch, inner, _ = split_shape(mat.shape, props)
    order = tuple(range(mat.ndim)) if dimensions is None else tuple(dimensions)
    batch_order, inner_order, dense_order = split_permutation(data, indices, order, mat.shape)
    batch_size, inner_size = math.prod(batch), math.prod(inner)
    sizes = tuple(new_sizes)
    products = np.cumprod(sizes, dtype=np.int64)
    if batch_size != 1 and batch_size not in products:
        raise ValueError(
            f"bcoo_reshape: new shape cannot mix batch and sparse dimensions; got shape={mat.shape}, new shape={sizes} "
            f"with n_batch={n}."
        )
    if inner_size != 1 and batch_size * inner_size not in products:
        raise ValueError(
            f"bcoo_reshape: new shape cannot mix sparse and dense dimensions; got shape={mat.shape}, new shape={sizes} "
            f"with n_dense={props.n_dense}."
        )
    first = int(products.searchsorted(batch_size, side="right"))
    stop = int(products.searchsorted(batch_size * inner_size, side="right"))
    new_batch, new_inner, new_dense = sizes[:first], sizes[first:stop], sizes[stop:]
    if inner and not new_inner:
        data = without_padding(mat)
    data, indices = with_batch(data, batch), with_batch(indices, batch)
    data = lax.reshape(
        data,
        (*new_batch, mat.nse, *new_dense),
        (*batch_order, n, *(p + n + 1 for p in dense_order)),
    )
    indices = lax.reshape(indices, (*new_batch, mat.nse, props.n_sparse), (*batch_order, n, n + 1))
    if not new_inner:
        # No index is left to tell padding by.
        indices = jnp.zeros((*new_batch, mat.nse, 0), indices.dtype)
    elif inner:
        read = tuple(inner[p] for p in inner_order)
        cols = tuple(indices[..., p] for p in inner_order)
        flat = jnp.ravel_multi_index(cols, dims=read, mode="clip")
        beyond = (indices >= bounds(inner, indices)).any(-1, keepdims=True)
        found = jnp.stack(jnp.unravel_index(flat, new_inner), axis=-1).astype(indices.dtype)
        indices = jnp.where(beyond, bounds(new_inner, indices), found)
    else:
        indices = jnp.zeros((*new_batch, mat.nse, len(new_inner)), indices.dtype)
    return BCOO((data, indices), shape=sizes)


def with_nse(mat: BCOO, nse: int) -> BCOO:
    """The array with ``nse`` rows: cut off, or filled up with padding."""
    n = mat.n_batch
    if nse == mat.nse:
        return mat
    data, indices = mat._bufs
    if nse < mat.nse:
        data = lax.slice_in_dim(data, 0, nse, axis=n)
        indices = lax.slice_in_dim(indices, 0, nse, axis=n)
    else:
        more = nse - mat.nse
        zeros = jnp.zeros((*data.shape[:n], more, *data.shape[n + 1 :]), data.dtype)
        inner = mat.shape[n : n + mat.n_sparse]
        fill = jnp.broadcast_to(bounds(inner, indices), (*indices.shape[:n], more, mat.n_sparse))
        data = lax.concatenate([data, zeros], n)
        indices = lax.concatenate([indices, fill], n)
    return BCOO(
        (data, indices),
        shape=mat.shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )
