"""Eigenvalues and eigenvectors of Hermitian matrices: A V = V diag(w)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Array, ArrayLike, Primitive, as_array, aval_of
from plugjax.extend.dtypes import DType
from plugjax.extend.rules import RuleSet, jvp_rule
from plugjax.lax.arithmetic import add, div, mul, sub
from plugjax.lax.families import convert
from plugjax.lax.linalg.family import matrix_primitive, not_linear
from plugjax.lax.linalg.matrices import (
    adjoint,
    as_column,
    as_row,
    diagonal,
    identity_like,
    matmul,
    real_dtype,
    real_part,
    symmetrized,
)
from plugjax.lax.shape import full_like

rules = RuleSet(__name__)

eigh_p = Primitive("eigh", multiple_results=True)


class EighImplementation(enum.Enum):
    """Algorithms for Hermitian matrices; processors have the first only."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues of Hermitian matrices.

    Shapes:
        x: ``[..., n, n]``, floating or complex.

    Args:
        x: the matrices.
        lower: without ``symmetrize_input``, which triangle is read.
        symmetrize_input: whether to take the Hermitian part of ``x`` first.
        sort_eigenvalues: accepted as in JAX; they are always in ascending order.
        subset_by_index: first and past-last index of the eigenvalues wanted; only all of them are supported.
        implementation: ``QR``, or ``None`` for the default.

    Returns:
        Eigenvectors as columns, ``[..., n, n]``, and eigenvalues, ``[..., n]``, real.

    Raises:
        ValueError: the matrices are not square.
        NotImplementedError: another subset or implementation.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import eigh
        >>> vectors, values = eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
        >>> values
        Array([1., 2.], dtype=float32)
    """
    x = as_array(x, "eigh")
    if subset_by_index is not None and not hasattr(subset_by_index, "__getitem__"):
        raise TypeError(
            f"eigh: subset_by_index is a pair of indices or None, got {subset_by_index!r}."
        )
    if symmetrize_input:
        x = symmetrized(x)
    vectors, values = eigh_p.bind(
        x,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=subset_by_index,
        algorithm=implementation,
    )
    return vectors, values


def _shapes(
    shape: tuple[int, ...],
    *,
    subset_by_index: tuple[int, int] | None,
    algorithm: EighImplementation | None,
    **_: Any,
) -> Sequence[tuple[int, ...]]:
    if shape[0] != shape[1]:
        raise ValueError(f"eigh needs square matrices, got shape {shape}.")
    if subset_by_index not in (None, (0, shape[0])):
        raise NotImplementedError("eigh: subset_by_index is not supported here; leave it out.")
    if isinstance(algorithm, EighImplementation) and algorithm is not EighImplementation.QR:
        raise NotImplementedError(f"eigh: {algorithm} is not supported here; leave it out.")
    return [shape, shape[:1]]


def _dtypes(dtype: DType, **_: Any) -> Sequence[DType]:
    return [dtype, real_dtype(dtype)]


matrix_primitive(rules, eigh_p, (2,), _shapes, dtypes=_dtypes)


def reciprocal_gaps(values: Any) -> Any:
    """``1 / (w_j - w_i)`` in row i and column j, zeros on the diagonal."""
    size = aval_of(values).shape[-1]
    one = identity_like(as_row(values), size)
    gaps = add(one, sub(as_row(values), as_column(values)))
    return sub(div(full_like(gaps, 1), gaps), one)


@rules.define(jvp_rule, eigh_p)
def _eigh_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    """With ``M = V^H A_dot V``: ``w_dot = Re diag(M)`` and ``V_dot = V (F * M)``, ``F_ij = 1 / (w_j - w_i)``.

    Valid where the eigenvalues are distinct.

    Reference:
        Giles, "An extended collection of matrix derivative results", 2008, section 3.1.
    """
    vectors, values = eigh_p.bind(symmetrized(primals[0]), **params)
    inner = matmul(matmul(adjoint(vectors), tangents[0]), vectors)
    factor = reciprocal_gaps(convert(values, aval_of(vectors).dtype))
    vectors_dot = matmul(vectors, mul(factor, inner))
    return [vectors, values], [vectors_dot, diagonal(real_part(inner))]


not_linear(rules, eigh_p)
