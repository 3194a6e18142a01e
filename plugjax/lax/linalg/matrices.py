"""Matrices in the last two axes: products, adjoints, triangles and diagonals, with any number of leading axes.

The formulas of this package use these functions. Each is linear in its matrix, operation by operation, so that
derivatives written with them can be transposed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import aval_of, broadcast_in_dim_p
from plugjax.extend.dtypes import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, DType
from plugjax.lax.arithmetic import add, mul
from plugjax.lax.comparison import eq, ge
from plugjax.lax.complex import conj, real
from plugjax.lax.dimension_numbers import GatherDimensionNumbers
from plugjax.lax.dot import Precision, dot_general
from plugjax.lax.families import convert
from plugjax.lax.gather_scatter import gather
from plugjax.lax.reduction import reduce_sum
from plugjax.lax.selection import select_n
from plugjax.lax.shape import (
    broadcast_in_dim,
    broadcasted_iota,
    expand_dims,
    full_like,
    reshape,
    transpose,
)

_REAL = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}
_COMPLEX = {FLOAT32: COMPLEX64, FLOAT64: COMPLEX128}


def real_dtype(dtype: DType) -> DType:
    """The dtype of the parts of a complex dtype; a real dtype is unchanged."""
    return _REAL.get(dtype, dtype)


def complex_dtype(dtype: DType) -> DType:
    """The complex dtype whose parts have the dtype."""
    return dtype if dtype.kind == "c" else _COMPLEX.get(dtype, COMPLEX64)


def matmul(x: Any, y: Any) -> Any:
    """Products of matrices with equal leading axes, as precise as the hardware can."""
    rank = aval_of(x).ndim
    batch = tuple(range(rank - 2))
    numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    return dot_general(x, y, numbers, precision=Precision.HIGHEST)


def matvec(x: Any, v: Any) -> Any:
    """Products of matrices and vectors with equal leading axes."""
    rank = aval_of(x).ndim
    batch = tuple(range(rank - 2))
    numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    return dot_general(x, v, numbers, precision=Precision.HIGHEST)


def transposed(x: Any) -> Any:
    """Rows and columns exchanged."""
    rank = aval_of(x).ndim
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def conjugate(x: Any) -> Any:
    """The complex conjugate; a real array is unchanged."""
    return conj(x) if aval_of(x).dtype.kind == "c" else x


def real_part(x: Any) -> Any:
    """The real part; a real array is unchanged."""
    return real(x) if aval_of(x).dtype.kind == "c" else x


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return conjugate(transposed(x))


def symmetrized(x: Any) -> Any:
    """The Hermitian part, ``(x + x^H) / 2``."""
    # An operator: integers become floating, as in JAX.
    return (x + adjoint(x)) / 2


def _on_or_below(shape: tuple[int, ...], k: int) -> Any:
    """Where the column is at most ``k`` to the right of the row's diagonal element."""
    last = shape[-2:]
    rows, columns = (broadcasted_iota(np.int32, last, d) for d in (0, 1))
    which = ge(add(rows, np.int32(k)), columns)
    if len(shape) == 2:
        return which
    return broadcast_in_dim(which, shape, (len(shape) - 2, len(shape) - 1))


def tril(x: Any, k: int = 0) -> Any:
    """``x`` with zeros above the ``k``-th diagonal."""
    return select_n(_on_or_below(aval_of(x).shape, k), full_like(x, 0), x)


def triu(x: Any, k: int = 0) -> Any:
    """``x`` with zeros below the ``k``-th diagonal."""
    return select_n(_on_or_below(aval_of(x).shape, k - 1), x, full_like(x, 0))


def identity(dtype: DType, rows: int, columns: int | None = None) -> Any:
    """Ones on the diagonal, zeros elsewhere."""
    shape = (rows, rows if columns is None else columns)
    which = eq(*[broadcasted_iota(np.int32, shape, d) for d in (0, 1)])
    return convert(which, dtype)


def identity_like(x: Any, rows: int, columns: int | None = None) -> Any:
    """:func:`identity`, of the dtype of ``x`` and repeated along its leading axes."""
    aval = aval_of(x)
    one = identity(aval.dtype, rows, columns)
    lead = aval.ndim - 2
    if not lead:
        return one
    shape = (*aval.shape[:-2], *aval_of(one).shape)
    return broadcast_in_dim(one, shape, (lead, lead + 1))


def diagonal(x: Any) -> Any:
    """The elements on the diagonal of each matrix."""
    aval = aval_of(x)
    which = identity(np.dtype(bool), *aval.shape[-2:])
    which = broadcast_in_dim(which, aval.shape, (aval.ndim - 2, aval.ndim - 1))
    kept = select_n(which, full_like(x, 0), x)
    # One term of each sum is not zero, so the sum is exact. Sum over the longer axis.
    longer = aval.ndim - 1 if aval.shape[-1] > aval.shape[-2] else aval.ndim - 2
    return reduce_sum(kept, (longer,))


def as_column(v: Any) -> Any:
    """A vector as a matrix of one column."""
    return expand_dims(v, (aval_of(v).ndim,))


def as_row(v: Any) -> Any:
    """A vector as a matrix of one row."""
    return expand_dims(v, (aval_of(v).ndim - 1,))


def scaled_rows(v: Any, x: Any) -> Any:
    """``diag(v) x``."""
    return mul(as_column(v), x)


def scaled_columns(x: Any, v: Any) -> Any:
    """``x diag(v)``."""
    return mul(x, as_row(v))


def rows_at(x: Any, indices: Any) -> Any:
    """Rows of each matrix in the order of ``indices``, which are in bounds."""
    shape, places = aval_of(x).shape, aval_of(indices).shape
    lead = len(shape) - 2
    batch = tuple(range(lead))
    numbers = GatherDimensionNumbers((lead + 1,), (lead,), (lead,), batch, batch)
    return gather(x, reshape(indices, (*places, 1)), numbers, [*(1,) * (lead + 1), shape[-1]])


def repeated(x: Any, batch: tuple[int, ...], core: int) -> Any:
    """``x``, whose last ``core`` axes are kept, broadcast to leading axes ``batch``."""
    shape = aval_of(x).shape
    own = shape[len(shape) - core :]
    target = (*batch, *own)
    if shape == target:
        return x
    return broadcast_in_dim_p.bind(
        x, shape=target, broadcast_dimensions=tuple(range(len(target) - len(shape), len(target)))
    )
