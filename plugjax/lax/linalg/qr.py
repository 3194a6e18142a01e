"""QR factors: A = Q R, the columns of Q orthonormal, R upper triangular."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Array, ArrayLike, Primitive, Zero, as_array, aval_of
from plugjax.extend.dtypes import INT32, DType
from plugjax.extend.rules import RuleSet, jvp_rule
from plugjax.lax.arithmetic import add, mul, sub
from plugjax.lax.complex import complex as complex_, imag, real
from plugjax.lax.families import scalar
from plugjax.lax.joining import concatenate, pad
from plugjax.lax.linalg.family import core_shape, matrix_primitive, not_linear
from plugjax.lax.linalg.lu import lu, lu_solve
from plugjax.lax.linalg.matrices import (
    adjoint,
    identity_like,
    matmul,
    rows_at,
    transposed,
    tril,
)
from plugjax.lax.linalg.triangular_solve import triangular_solve
from plugjax.lax.slicing import slice_in_dim

rules = RuleSet(__name__)

qr_p = Primitive("qr", multiple_results=True)


def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, ...]:
    """QR factors.

    Shapes:
        x: ``[..., m, n]``, floating or complex; k = min(m, n).

    Args:
        x: the matrices.
        pivoting: whether to permute the columns so that the diagonal of R decreases.
        full_matrices: whether Q is ``[..., m, m]`` and R ``[..., m, n]``, instead of ``[..., m, k]`` and ``[..., k,
            n]``.
        use_magma: accepted as in JAX; LAPACK is used.

    Returns:
        ``(Q, R)``, with ``pivoting`` ``(Q, R, order)`` where ``x[:, order] = Q R``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import qr
        >>> q, r = qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
        >>> jnp.abs(r[0, 0])
        Array(5., dtype=float32)
    """
    return tuple(
        qr_p.bind(
            as_array(x, "qr"),
            pivoting=bool(pivoting),
            full_matrices=bool(full_matrices),
            use_magma=use_magma,
        )
    )


def _shapes(
    shape: tuple[int, ...], *, pivoting: bool, full_matrices: bool, **_: Any
) -> Sequence[tuple[int, ...]]:
    rows, columns = shape
    inner = rows if full_matrices else min(shape)
    found = [(rows, inner), (inner, columns)]
    return [*found, (columns,)] if pivoting else found


def _dtypes(dtype: DType, *, pivoting: bool, **_: Any) -> Sequence[DType]:
    return [dtype, dtype, INT32] if pivoting else [dtype, dtype]


matrix_primitive(rules, qr_p, (2,), _shapes, dtypes=_dtypes)


def _columns(x: Any, start: int, stop: int | None = None) -> Any:
    return slice_in_dim(x, start, stop, axis=aval_of(x).ndim - 1)


def _rows(x: Any, start: int, stop: int | None = None) -> Any:
    return slice_in_dim(x, start, stop, axis=aval_of(x).ndim - 2)


@rules.define(jvp_rule, qr_p)
def _qr_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool, **params: Any
) -> tuple[list[Any], list[Any]]:
    """The derivative of the square or tall part determines the rest.

    A wide matrix is ``[X1 X2]`` with X1 square: ``R2 = Q^H X2`` is differentiated as a product. The additional columns
    of a complete Q are ``Q_mp``; see :func:`_completed`.
    """
    x, x_dot = primals[0], tangents[0]
    rows, columns = core_shape(x)
    q, r, *order = qr_p.bind(x, full_matrices=full_matrices, **params)
    if order:
        x, x_dot = _reordered(x, order[0]), _reordered(x_dot, order[0])
    if rows < columns:
        q_dot, first = _thin(q, _columns(r, 0, rows), _columns(x_dot, 0, rows))
        rest = add(
            matmul(adjoint(q_dot), _columns(x, rows)), matmul(adjoint(q), _columns(x_dot, rows))
        )
        r_dot = concatenate((first, rest), aval_of(r).ndim - 1)
    else:
        tall = full_matrices and rows > columns
        thin_q, thin_r = (_columns(q, 0, columns), _rows(r, 0, columns)) if tall else (q, r)
        q_dot, r_dot = _thin(thin_q, thin_r, x_dot)
        if tall:
            q_dot = _completed(q, thin_q, q_dot)
            lead = [(0, 0, 0)] * (aval_of(r).ndim - 2)
            r_dot = pad(r_dot, scalar(0, r_dot), [*lead, (0, rows - columns, 0), (0, 0, 0)])
    zeros = [Zero(aval_of(p).to_tangent_aval()) for p in order]
    return [q, r, *order], [q_dot, r_dot, *zeros]


def _reordered(x: Any, order: Any) -> Any:
    return transposed(rows_at(transposed(x), order))


def _thin(q: Any, r: Any, x_dot: Any) -> tuple[Any, Any]:
    """For m >= n: ``Q_dot = Q (W - M) + X_dot R^-1`` and ``R_dot = (M - W) R`` with ``M = Q^H X_dot R^-1``.

    W is the anti-Hermitian matrix that has M's strict lower triangle.

    Reference:
        Walter, Lehmann, Lamour, "On evaluating higher-order derivatives of the QR decomposition", 2012.
    """  # fmt: skip
    outer = triangular_solve(r, x_dot)
    inner = matmul(adjoint(q), outer)
    lower = tril(inner, -1)
    turn = sub(lower, adjoint(lower))
    if aval_of(inner).dtype.kind == "c":
        # The diagonal of R is real, so phases belong to Q.
        on_diagonal = mul(identity_like(inner, core_shape(inner)[0]), inner)
        turn = add(
            turn, complex_(mul(real(on_diagonal), scalar(0, real(inner))), imag(on_diagonal))
        )
    q_dot = add(matmul(q, sub(turn, inner)), outer)
    return q_dot, matmul(sub(inner, turn), r)


def _completed(q: Any, thin: Any, thin_dot: Any) -> Any:
    """The tangent of a square Q from that of its first columns.

    With Q in blocks of n and p rows and columns and ``Z = Q_pn (Q_nn - 1)^-1``:
    ``Q_mp_dot = Q_mn_dot Z^H - (Q_mn + Q_mp Z) (Q_pn_dot - Z Q_nn_dot)^H``.

    Reference:
        Roberts, Roberts, "QR and LQ decomposition matrix backpropagation algorithms", arXiv:2009.10071, and its
        extension to full matrices, arXiv:2409.13374, equations 32 and 33.
    """
    columns = core_shape(thin)[1]
    top, bottom = _rows(thin, 0, columns), _rows(thin, columns)
    factors, _, permutation = lu(sub(top, identity_like(top, columns)))
    z_adjoint = lu_solve(factors, permutation, adjoint(bottom), trans=2)
    z = adjoint(z_adjoint)
    base = add(thin, matmul(_columns(q, columns), z))
    change = sub(_rows(thin_dot, columns), matmul(z, _rows(thin_dot, 0, columns)))
    rest = sub(matmul(thin_dot, z_adjoint), matmul(base, adjoint(change)))
    return concatenate((thin_dot, rest), aval_of(q).ndim - 1)


not_linear(rules, qr_p)
