"""LU factors with row exchanges, P A = L U, and solutions with them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Array, ArrayLike, Primitive, Zero, as_array, aval_of
from plugjax.extend.dtypes import INT32, DType
from plugjax.extend.rules import RuleSet, jvp_rule
from plugjax.lax.arithmetic import add
from plugjax.lax.broadcasting import broadcast_shapes
from plugjax.lax.families import DtypeSet, scalar, zero_derivative
from plugjax.lax.joining import pad
from plugjax.lax.linalg.family import core_shape, matrix_primitive, not_linear
from plugjax.lax.linalg.matrices import (
    identity_like,
    matmul,
    repeated,
    rows_at,
    tril,
    triu,
)
from plugjax.lax.linalg.triangular_solve import triangular_solve
from plugjax.lax.shape import broadcasted_iota, expand_dims, squeeze
from plugjax.lax.slicing import slice_in_dim
from plugjax.lax.sorting import sort_key_val

rules = RuleSet(__name__)

lu_p = Primitive("lu", multiple_results=True)
lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation")

_INT32 = DtypeSet("int32", lambda d: d == INT32)


def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """LU factors with partial pivoting.

    Shapes:
        x: ``[..., m, n]``, floating or complex.

    Returns:
        Both factors in one ``[..., m, n]``, without the ones on the diagonal of L; the row exchanges ``[..., min(m,
        n)]``, int32; the permutation that results from them, ``[..., m]``, int32.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import lu
        >>> factors, pivots, permutation = lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
        >>> factors, permutation
        (Array([[4.  , 4.  ],
               [0.25, 1.  ]], dtype=float32), Array([1, 0], dtype=int32))
    """
    factors, pivots, permutation = lu_p.bind(as_array(x, "lu"))
    return factors, pivots, permutation


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation that results from a sequence of row exchanges.

    Shapes:
        pivots: ``[..., k]``, int32 -> ``[..., permutation_size]``, int32.

    Raises:
        ValueError: the permutation is shorter than the sequence.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import lu_pivots_to_permutation
        >>> lu_pivots_to_permutation(jnp.array([2, 2, 2]), 3)
        Array([2, 0, 1], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(
        as_array(pivots, "lu_pivots_to_permutation"),
        permutation_size=operator.index(permutation_size),
    )


def lu_solve(factors: Any, permutation: Any, b: Any, trans: int = 0) -> Any:
    """The solution of ``op(A) x = b`` from the factors of ``A``.

    Shapes:
        factors: ``[..., m, m]``.
        permutation: ``[..., m]``.
        b: ``[..., m, k]``; leading axes of all three broadcast -> ``[..., m, k]``. With one axis less, vectors.

    Args:
        factors: as returned by :func:`lu`.
        permutation: likewise.
        b: the right-hand sides.
        trans: 0 for ``A``, 1 for its transpose, 2 for its adjoint.

    Raises:
        ValueError: shapes do not fit, or ``trans`` is another number.
    """
    factors_aval, b_aval = aval_of(factors), aval_of(b)
    if factors_aval.ndim < 2 or factors_aval.shape[-1] != factors_aval.shape[-2]:
        raise ValueError(
            f"lu_solve needs a square LU decomposition, got shape {factors_aval.shape}."
        )
    if b_aval.ndim < 1:
        raise ValueError(f"lu_solve needs b of rank 1 or more, got shape {b_aval.shape}.")
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: trans={trans} is unknown. Give 0, 1 or 2.")
    vector = factors_aval.ndim == b_aval.ndim + 1
    if vector:
        b = expand_dims(b, (b_aval.ndim,))
    if aval_of(b).shape[-2] != factors_aval.shape[-1]:
        raise ValueError(
            f"The LU decomposition, of shape {factors_aval.shape}, and b, of shape {b_aval.shape}, do not fit."
        )
    leads = [factors_aval.shape[:-2], aval_of(permutation).shape[:-1], aval_of(b).shape[:-2]]
    batch = broadcast_shapes(*leads)
    factors, b = repeated(factors, batch, 2), repeated(b, batch, 2)
    x = _solved(factors, repeated(permutation, batch, 1), b, trans)
    return squeeze(x, (-1,)) if vector else x


def _solved(factors: Any, permutation: Any, b: Any, trans: int) -> Any:
    if trans == 0:
        x = rows_at(b, permutation)
        x = triangular_solve(factors, x, left_side=True, lower=True, unit_diagonal=True)
        return triangular_solve(factors, x, left_side=True)
    op = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
    x = triangular_solve(factors, b, **op)
    x = triangular_solve(factors, x, lower=True, unit_diagonal=True, **op)
    places = aval_of(permutation)
    numbers = broadcasted_iota(INT32, places.shape, places.ndim - 1)
    return rows_at(x, sort_key_val(permutation, numbers)[1])


def _lu_shapes(shape: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    return [shape, (min(shape),), (shape[0],)]


def _lu_dtypes(dtype: DType) -> Sequence[DType]:
    return [dtype, INT32, INT32]


def _permutation_shape(
    shape: tuple[int, ...], *, permutation_size: int
) -> Sequence[tuple[int, ...]]:
    if permutation_size < shape[0]:
        raise ValueError(
            f"lu_pivots_to_permutation: permutation_size {permutation_size} is less than the number of pivots, "
            f"{shape[0]}."
        )
    return [(permutation_size,)]


matrix_primitive(rules, lu_p, (2,), _lu_shapes, dtypes=_lu_dtypes)
matrix_primitive(rules, lu_pivots_to_permutation_p, (1,), _permutation_shape, accepts=(_INT32,))
zero_derivative(rules, lu_pivots_to_permutation_p)


@rules.define(jvp_rule, lu_p)
def _lu_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """With ``M = L^-1 P A_dot U^-1``: ``L_dot = L tril(M, -1)`` and ``U_dot = triu(M) U``.

    L and U are made square by rows and columns of the identity.

    Reference:
        De Hoog, Anderssen, Lukas, "Differentiation of matrix functionals using triangular factorization", 2011.
    """
    factors, pivots, permutation = lu_p.bind(*primals)
    a_dot = rows_at(tangents[0], permutation)
    rows, columns = core_shape(factors)
    least = min(rows, columns)
    axis = aval_of(factors).ndim
    left = tril(slice_in_dim(factors, 0, least, axis=axis - 1), -1)
    left = add(_widened(left, 0, rows - least), identity_like(factors, rows))
    right = triu(slice_in_dim(factors, 0, least, axis=axis - 2))
    right = _widened(right, columns - least, 0)
    if columns > least:
        rest = identity_like(factors, columns - least)
        corner = [(0, 0, 0)] * (axis - 2) + [(least, 0, 0)] * 2
        right = add(right, pad(rest, scalar(0, rest), corner))
    inner = triangular_solve(left, a_dot, left_side=True, lower=True, unit_diagonal=True)
    inner = triangular_solve(right, inner)
    factors_dot = add(matmul(left, tril(inner, -1)), matmul(triu(inner), right))
    zeros = [Zero(aval_of(x).to_tangent_aval()) for x in (pivots, permutation)]
    return [factors, pivots, permutation], [factors_dot, *zeros]


def _widened(x: Any, rows: int, columns: int) -> Any:
    """Append rows and columns of zeros."""
    if not rows and not columns:
        return x
    lead = [(0, 0, 0)] * (aval_of(x).ndim - 2)
    return pad(x, scalar(0, x), [*lead, (0, rows, 0), (0, columns, 0)])


not_linear(rules, lu_p, lu_pivots_to_permutation_p)
