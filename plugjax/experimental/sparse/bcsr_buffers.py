"""Buffers of BCSR arrays: compressed rows instead of row indices.

An array of shape ``[batch..., rows, columns, dense...]`` has data ``[batch..., nse, dense...]``, indices of columns
``[batch..., nse]``, and ``indptr`` ``[batch..., rows + 1]``, where each row starts and ends. What comes after the last row is
padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from plugjax import lax, numpy as jnp
from plugjax.experimental.sparse import dense, dot
from plugjax.experimental.sparse.layout import SparseInfo, compatible
from plugjax.experimental.sparse.places import add_rows, common_batch, with_batch
from plugjax.extend import dtypes
from plugjax.extend.core import aval_of


class BCSRProperties(NamedTuple):
    """Numbers of batch and dense axes, and of stored elements."""

    n_batch: int
    n_dense: int
    nse: int


def bcsr_indices_properties(indices: Any, indptr: Any, shape: Sequence[int]) -> BCSRProperties:
    """Properties of the layout of indices.

    Raises:
        TypeError: indices are no integers.
        ValueError: shapes do not fit.
    """
    for name, x in (("indices", indices), ("indptr", indptr)):
        if not dtypes.is_integer(x.dtype):
            raise TypeError(f"BCSR: {name} are integers, got dtype {x.dtype}.")
    n_batch = len(indices.shape) - 1
    n_dense = len(shape) - n_batch - 2
    if n_batch < 0 or n_dense < 0:
        raise ValueError(
            f"BCSR array must have 2 sparse dimensions; indices have shape {indices.shape} for an array of shape {shape}."
        )
    for name, x in (("indices", indices), ("indptr", indptr)):
        if len(x.shape) != n_batch + 1 or not compatible(x.shape[:n_batch], shape[:n_batch]):
            raise ValueError(
                f"BCSR: {name} batch dimensions not compatible: {x.shape} for an array of shape {tuple(shape)}."
            )
    if indptr.shape[n_batch] != shape[n_batch] + 1:
        raise ValueError(
            f"BCSR: indptr shape must match the matrix shape plus 1; got {indptr.shape} for an array of shape {tuple(shape)}."
        )
    return BCSRProperties(n_batch, n_dense, indices.shape[n_batch])


def bcsr_properties(data: Any, indices: Any, indptr: Any, shape: Sequence[int]) -> BCSRProperties:
    """Properties of the layout of buffers.

    Raises:
        TypeError: indices are no integers.
        ValueError: shapes do not fit.
    """
    props = bcsr_indices_properties(indices, indptr, shape)
    n = props.n_batch
    wanted = (props.nse, *shape[n + 2 :])
    if tuple(data.shape[n:]) != wanted:
        raise ValueError(
            f"BCSR: Invalid data.shape={tuple(data.shape)} for {props}: after {n} batch axes comes {wanted}."
        )
    if not compatible(data.shape[:n], shape[:n]):
        raise ValueError(
            f"BCSR: data batch dimensions not compatible: {tuple(data.shape)} for an array of shape {tuple(shape)}."
        )
    return props


def rows_of(indices: Any, indptr: Any) -> Any:
    """The row of each stored element, ``[batch..., nse]``: the number of rows that end before it."""
    n = aval_of(indices).ndim - 1
    batch = common_batch(n, indices, indptr)
    indptr = with_batch(indptr, batch)
    nse = aval_of(indices).shape[n]
    dtype = aval_of(indices).dtype
    ones = jnp.ones(aval_of(indptr).shape, dtype)
    starts = add_rows(jnp.zeros((*batch, nse), dtype), indptr[..., None], ones, n)
    return jnp.cumsum(starts, axis=n, dtype=dtype) - 1


def coordinates(indices: Any, indptr: Any) -> Any:
    """Indices of BCSR buffers as those of BCOO buffers, ``[batch..., nse, 2]``."""
    rows = rows_of(indices, indptr)
    columns = with_batch(indices, aval_of(rows).shape[:-1])
    return jnp.stack([rows, columns], axis=-1)


def compressed(indices: Any, shape: Sequence[int], index_dtype: Any) -> tuple[Any, Any]:
    """Sorted BCOO indices of matrices as columns and row pointers."""
    n = aval_of(indices).ndim - 2
    rows, columns = indices[..., 0], indices[..., 1]
    batch = aval_of(rows).shape[:n]
    counts = add_rows(
        jnp.zeros((*batch, shape[n]), index_dtype),
        rows[..., None],
        jnp.ones(aval_of(rows).shape, index_dtype),
        n,
    )
    ends = jnp.cumsum(counts, axis=n, dtype=index_dtype)
    zero = jnp.zeros((*batch, 1), index_dtype)
    return columns, lax.concatenate([zero, ends], n)


def todense_buffers(data: Any, indices: Any, indptr: Any, *, spinfo: SparseInfo) -> list[Any]:
    """The dense array."""
    bcsr_properties(data, indices, indptr, spinfo.shape)
    return dense.todense_buffers(data, coordinates(indices, indptr), spinfo=spinfo)


def extract_buffers(indices: Any, indptr: Any, mat: Any) -> list[Any]:
    """Elements of a dense array where BCSR indices say."""
    bcsr_indices_properties(indices, indptr, aval_of(mat).shape)
    return dense.extract_buffers(coordinates(indices, indptr), mat, assume_unique=True)


def fromdense_buffers(
    mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> list[Any]:
    """What is not 0 in a dense array."""
    shape = aval_of(mat).shape
    if len(shape) - n_batch - n_dense != 2:
        raise ValueError(
            f"bcsr_fromdense: must have 2 sparse dimensions; got {shape=}, {n_batch=}, {n_dense=}."
        )
    data, indices = dense.fromdense_buffers(
        mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
    )
    return [data, *compressed(indices, shape, index_dtype)]


def dot_general_buffers(
    lhs_data: Any,
    lhs_indices: Any,
    lhs_indptr: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
    lhs_spinfo: SparseInfo,
) -> list[Any]:
    """The product of BCSR buffers and a dense array."""
    bcsr_properties(lhs_data, lhs_indices, lhs_indptr, lhs_spinfo.shape)
    return dot.dot_general_buffers(
        lhs_data,
        coordinates(lhs_indices, lhs_indptr),
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
        lhs_spinfo=lhs_spinfo,
    )
