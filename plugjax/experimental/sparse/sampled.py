"""Products of dense arrays at given indices alone."""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.experimental.sparse.dense import extract_buffers
from plugjax.experimental.sparse.dot import product_aval, remaining
from plugjax.experimental.sparse.layout import bcoo_indices_properties
from plugjax.experimental.sparse.places import columns, gather_rows
from plugjax.extend.core import aval_of


def sampled_buffers(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> list[Any]:  # noqa: N803  # JAX's names
    """Elements of ``lax.dot_general(A, B)`` at indices.

    Without batch axes only those elements are computed; otherwise elements are read from the whole product.
    """
    a, b = aval_of(A), aval_of(B)
    out = product_aval(a.shape, a.dtype, b.shape, b.dtype, dimension_numbers, None)
    props = bcoo_indices_properties(indices, out.shape)
    (a_contract, b_contract), (a_batch, b_batch) = dimension_numbers
    if props.n_batch or len(a_batch) > props.n_sparse:
        whole = lax.dot_general(
            A, B, dimension_numbers=dimension_numbers, precision=lax.Precision.HIGHEST
        )
        return extract_buffers(indices, whole, assume_unique=True)
    # Axes of the product: those of both operands, those of A, those of B; the first ones are looked up.
    a_free, b_free = (
        remaining(a.ndim, a_batch, a_contract),
        remaining(b.ndim, b_batch, b_contract),
    )
    shared, n_sparse = len(a_batch), props.n_sparse
    of_a = min(n_sparse - shared, len(a_free))
    of_b = n_sparse - shared - of_a
    first = list(range(shared))
    a_columns = columns(indices, [*first, *range(shared, shared + of_a)])
    b_columns = columns(indices, [*first, *range(shared + of_a, n_sparse)])
    a_rows = gather_rows(
        lax.transpose(A, (*a_batch, *a_free[:of_a], *a_contract, *a_free[of_a:])), a_columns
    )
    b_rows = gather_rows(
        lax.transpose(B, (*b_batch, *b_free[:of_b], *b_contract, *b_free[of_b:])), b_columns
    )
    contract = tuple(range(1, 1 + len(a_contract)))
    product = lax.dot_general(
        a_rows, b_rows, ((contract, contract), ((0,), (0,))), precision=lax.Precision.HIGHEST
    )
    return [product]
