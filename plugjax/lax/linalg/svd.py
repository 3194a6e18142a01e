"""Singular values and vectors: A = U diag(s) V^H."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Literal, overload

from plugjax.extend.core import Array, ArrayLike, Primitive, as_array, aval_of, min_dim
from plugjax.extend.dtypes import DType
from plugjax.extend.rules import RuleSet, jvp_rule
from plugjax.lax.arithmetic import add, div, mul, sub
from plugjax.lax.comparison import eq
from plugjax.lax.families import convert, scalar
from plugjax.lax.linalg.family import core_shape, matrix_primitive, not_linear
from plugjax.lax.linalg.matrices import (
    adjoint,
    as_column,
    as_row,
    diagonal,
    identity_like,
    matmul,
    real_dtype,
    real_part,
    scaled_columns,
    scaled_rows,
)
from plugjax.lax.shape import full_like

rules = RuleSet(__name__)

svd_p = Primitive("svd", multiple_results=True)


class SvdAlgorithm(enum.Enum):
    """Algorithms for singular values; processors have all but ``JACOBI`` and ``POLAR``."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array]: ...


@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: Literal[False],
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Array: ...


@overload
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any: ...


def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Singular values in descending order, and singular vectors.

    Shapes:
        x: ``[..., m, n]``, floating or complex; k = min(m, n).

    Args:
        x: the matrices.
        full_matrices: whether U is ``[..., m, m]`` and V^H ``[..., n, n]``, instead of ``[..., m, k]`` and ``[..., k,
            n]``.
        compute_uv: whether to return the vectors.
        subset_by_index: first and past-last index of the singular values wanted; only all of them are supported.
        algorithm: the algorithm.

    Returns:
        ``(U, s, V^H)``, or s alone; s is ``[..., k]``, real.

    Raises:
        NotImplementedError: another subset or algorithm; or, when differentiated, full matrices that are not square.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import svd
        >>> svd(jnp.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False)
        Array([4., 3.], dtype=float32)
    """
    found = svd_p.bind(
        as_array(x, "svd"),
        full_matrices=bool(full_matrices),
        compute_uv=bool(compute_uv),
        subset_by_index=subset_by_index,
        algorithm=algorithm,
    )
    if not compute_uv:
        return found[0]
    values, left, right = found
    return left, values, right


def _shapes(
    shape: tuple[int, ...],
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: SvdAlgorithm | None,
) -> Sequence[tuple[int, ...]]:
    rows, columns = shape
    rank = min_dim(rows, columns)
    if subset_by_index not in (None, (0, rank)):
        if full_matrices:
            raise ValueError("svd: full_matrices and subset_by_index exclude each other.")
        raise NotImplementedError("svd: subset_by_index is not supported here; leave it out.")
    if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
        raise NotImplementedError(f"svd: {algorithm} is not supported here; leave it out.")
    if not compute_uv:
        return [(rank,)]
    if full_matrices:
        return [(rank,), (rows, rows), (columns, columns)]
    return [(rank,), (rows, rank), (rank, columns)]


def _dtypes(dtype: DType, *, compute_uv: bool, **_: Any) -> Sequence[DType]:
    return [real_dtype(dtype), dtype, dtype] if compute_uv else [real_dtype(dtype)]


matrix_primitive(rules, svd_p, (2,), _shapes, dtypes=_dtypes)


@rules.define(jvp_rule, svd_p)
def _svd_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    full_matrices: bool,
    compute_uv: bool,
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    """The derivative, in terms of ``M = U^H A_dot V``.

    ``s_dot = Re diag(M)``, ``U_dot = U (F * (M S + S M^H) + D) + (1 - U U^H) A_dot V / S``
    and ``V_dot = V (F * (S M + M^H S)) + (1 - V V^H) A_dot^H U / S``, where ``F_ij = 1 / (s_j^2 - s_i^2)`` off the
    diagonal, and D is the anti-Hermitian part of ``diag(M) / S``.

    Valid where the singular values are distinct; vectors also need them not to be zero.

    Reference:
        Giles, "An extended collection of matrix derivative results", 2008, section 3.2.
    """  # fmt: skip
    a, a_dot = primals[0], tangents[0]
    rows, columns = core_shape(a)
    if compute_uv and full_matrices and rows != columns:
        raise NotImplementedError(
            "svd with full_matrices=True has a derivative for square matrices only. Pass full_matrices=False."
        )
    values, left, right = svd_p.bind(a, full_matrices=False, compute_uv=True, **params)
    inner = matmul(matmul(adjoint(left), a_dot), adjoint(right))
    values_dot = diagonal(real_part(inner))
    if not compute_uv:
        return [values], [values_dot]
    left_dot, right_dot = _vectors_dot(left, values, adjoint(right), inner, a_dot)
    return [values, left, right], [values_dot, left_dot, adjoint(right_dot)]


def _vectors_dot(left: Any, values: Any, right: Any, inner: Any, a_dot: Any) -> tuple[Any, Any]:
    """Tangents of U and V."""
    dtype = aval_of(left).dtype
    count = aval_of(values).shape[-1]
    one = identity_like(as_row(values), count)
    gaps = mul(add(as_row(values), as_column(values)), sub(as_row(values), as_column(values)))
    factor = convert(sub(div(full_like(gaps, 1), add(gaps, one)), one), dtype)
    s = convert(values, dtype)
    zeros = convert(eq(values, scalar(0, values)), aval_of(values).dtype)
    inverse = convert(sub(div(full_like(values, 1), add(values, zeros)), zeros), dtype)

    def doubled(x: Any) -> Any:
        return add(x, adjoint(x))

    # Only the diagonal of this matters: it rotates the phases of complex vectors.
    turn = mul(sub(inner, adjoint(inner)), scalar(0.5, inner))
    turn = mul(scaled_columns(turn, inverse), convert(one, dtype))
    left_dot = matmul(left, add(mul(factor, doubled(scaled_columns(inner, s))), turn))
    right_dot = matmul(right, mul(factor, doubled(scaled_rows(s, inner))))
    rows, columns = core_shape(a_dot)
    if rows > columns:
        left_dot = add(left_dot, _outside(matmul(a_dot, right), left, s))
    if columns > rows:
        right_dot = add(right_dot, _outside(matmul(adjoint(a_dot), left), right, s))
    return left_dot, right_dot


def _outside(change: Any, basis: Any, s: Any) -> Any:
    """The part of ``change`` that is orthogonal to ``basis``, over the singular values."""
    rest = sub(change, matmul(basis, matmul(adjoint(basis), change)))
    return div(rest, as_row(s))


not_linear(rules, svd_p)
