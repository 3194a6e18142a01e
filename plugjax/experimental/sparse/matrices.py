"""Buffers of COO and CSR matrices: values, rows and columns; and values, columns and where rows start."""

from __future__ import annotations

from typing import Any

from plugjax import lax, numpy as jnp
from plugjax.experimental.sparse import bcsr_buffers, dense
from plugjax.experimental.sparse.layout import SparseInfo
from plugjax.experimental.sparse.matrix_product import KINDS, coordinate_matmul
from plugjax.experimental.sparse.places import add_rows, gather_rows
from plugjax.extend.core import aval_of


def _check_matrix(who: str, mat: Any) -> None:
    if aval_of(mat).ndim != 2:
        raise ValueError(f"{who} takes a matrix, got shape {aval_of(mat).shape}.")


def coo_todense_buffers(data: Any, row: Any, col: Any, *, spinfo: Any) -> list[Any]:
    """The dense matrix."""
    zeros = jnp.zeros(spinfo.shape, aval_of(data).dtype)
    return [add_rows(zeros, jnp.stack([row, col], axis=-1), data)]


def coo_fromdense_buffers(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
    """Values that are not 0, rows and columns; padding is 0 at (0, 0)."""
    _check_matrix("coo_fromdense", mat)
    data, indices = dense.fromdense_buffers(
        mat, nse=nse, n_batch=0, n_dense=0, index_dtype=index_dtype
    )
    shape = aval_of(mat).shape
    indices = jnp.where(indices[:, :1] >= shape[0], jnp.zeros((), index_dtype), indices)
    return [data, indices[:, 0], indices[:, 1]]


def coo_product_buffers(
    data: Any, row: Any, col: Any, other: Any, *, spinfo: Any, transpose: bool
) -> list[Any]:
    """The matrix, or its transpose, times a vector or matrix."""
    rows, columns = spinfo.shape
    x, y = aval_of(data), aval_of(other)
    if transpose:
        row, col, rows, columns = col, row, columns, rows
    if y.ndim not in (1, 2) or y.shape[0] != columns:
        raise ValueError(
            f"product of a sparse matrix of shape {(rows, columns)} with an array of shape {y.shape}: the first axis must "
            f"have size {columns}."
        )
    if x.dtype != y.dtype:
        raise TypeError(
            f"product of a sparse matrix: dtypes {x.dtype} and {y.dtype} differ. Convert one, or use the operator @."
        )
    if x.dtype in KINDS:
        return [coordinate_matmul(data, row, col, other, rows)]
    found = gather_rows(other, col[:, None])
    values = lax.mul(jnp.broadcast_to(data[:, None], found.shape) if y.ndim == 2 else data, found)
    return [add_rows(jnp.zeros((rows, *y.shape[1:]), x.dtype), row[:, None], values)]


def csr_todense_buffers(data: Any, indices: Any, indptr: Any, *, shape: Any) -> list[Any]:
    """The dense matrix."""
    return bcsr_buffers.todense_buffers(data, indices, indptr, spinfo=SparseInfo(tuple(shape)))


def csr_fromdense_buffers(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
    """Values that are not 0, columns, and where rows start."""
    _check_matrix("csr_fromdense", mat)
    data, indices, indptr = bcsr_buffers.fromdense_buffers(
        mat, nse=nse, n_batch=0, n_dense=0, index_dtype=index_dtype
    )
    padding = jnp.arange(nse) >= indptr[-1]
    return [data, jnp.where(padding, jnp.zeros((), index_dtype), indices), indptr]


def csr_product_buffers(
    data: Any, indices: Any, indptr: Any, other: Any, *, shape: Any, transpose: bool
) -> list[Any]:
    """The matrix, or its transpose, times a vector or matrix."""
    row = bcsr_buffers.rows_of(indices, indptr)
    return coo_product_buffers(
        data, row, indices, other, spinfo=SparseInfo(tuple(shape)), transpose=transpose
    )
