"""Eigenvalues and eigenvectors of general matrices: A V = V diag(w)."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Array, ArrayLike, Primitive, as_array, aval_of
from plugjax.extend.dtypes import INT32, DType
from plugjax.extend.rules import RuleSet, jvp_rule
from plugjax.lax.arithmetic import abs as abs_, add, div, mul, neg
from plugjax.lax.comparison import eq
from plugjax.lax.complex import complex as complex_, conj, imag, real
from plugjax.lax.families import convert
from plugjax.lax.linalg.eigh import reciprocal_gaps
from plugjax.lax.linalg.family import check_square, matrix_primitive, not_linear
from plugjax.lax.linalg.matrices import (
    adjoint,
    complex_dtype,
    diagonal,
    matmul,
    scaled_columns,
    transposed,
)
from plugjax.lax.linalg.solve import solve
from plugjax.lax.reduction import argmax, reduce_sum
from plugjax.lax.shape import broadcast_in_dim, broadcasted_iota

rules = RuleSet(__name__)

eig_p = Primitive("eig", multiple_results=True)

_EIGENVECTOR_DERIVATIVES = (
    "Derivatives of eigenvectors from lax.linalg.eig hold where all eigenvalues differ and each eigenvector has a "
    "single largest component. This is not checked: pass enable_eigvec_derivs=True to accept it."
)


class EigImplementation(enum.Enum):
    """Algorithms for general matrices; processors have LAPACK's only."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Eigenvalues and eigenvectors of general matrices.

    Shapes:
        x: ``[..., n, n]``, floating or complex.

    Args:
        x: the matrices.
        compute_left_eigenvectors: whether to return the left ones, with ``u^H x = w u^H``.
        compute_right_eigenvectors: whether to return the right ones.
        enable_eigvec_derivs: allow derivatives of eigenvectors. They are taken under LAPACK's scaling (norm 1, the
            largest component real) and hold only for distinct eigenvalues and a largest component that is unique.
        implementation: ``LAPACK``, or ``None`` for the default.
        use_magma: deprecated, as in JAX.

    Returns:
        Eigenvalues ``[..., n]``, then the requested left and right eigenvectors, as columns ``[..., n, n]``; all
        complex, and nan where LAPACK does not converge.

    Raises:
        ValueError: the matrices are not square, or another implementation is requested.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import eig
        >>> eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]]))[0]
        Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    if use_magma is not None:
        warnings.warn(
            "eig: use_magma is deprecated. Pass implementation instead, such as EigImplementation.MAGMA.",
            DeprecationWarning,
            stacklevel=2,
        )
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    for flag in (compute_left_eigenvectors, compute_right_eigenvectors):
        if isinstance(flag, str):
            raise TypeError(f"eig: whether vectors are computed is a bool, got {flag!r}.")
    found: list[Any] = eig_p.bind(
        as_array(x, "eig"),
        compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
        enable_eigvec_derivs=bool(enable_eigvec_derivs),
        implementation=implementation,
    )
    return found


def _count(left: bool, right: bool) -> int:
    return int(left) + int(right)


def _shapes(
    shape: tuple[int, ...],
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    implementation: EigImplementation | None,
    **_: Any,
) -> Sequence[tuple[int, ...]]:
    check_square("eig", shape)
    if implementation not in (None, EigImplementation.LAPACK):
        raise ValueError(f"eig: {implementation} is not supported here; leave it out.")
    return [shape[:1], *[shape] * _count(compute_left_eigenvectors, compute_right_eigenvectors)]


def _dtypes(
    dtype: DType, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> Sequence[DType]:
    count = 1 + _count(compute_left_eigenvectors, compute_right_eigenvectors)
    return [complex_dtype(dtype)] * count


matrix_primitive(rules, eig_p, (2,), _shapes, dtypes=_dtypes)


@rules.define(jvp_rule, eig_p)
def _eig_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: EigImplementation | None,
) -> tuple[list[Any], list[Any]]:
    """With ``M = V^-1 A_dot V``: ``w_dot = diag(M)`` and ``V_dot = V (F * M) + V diag(c)``; c keeps LAPACK's scaling.

    Reference:
        Giles, "An extended collection of matrix derivative results", 2008, section 3.1.
    """
    wants_vectors = compute_left_eigenvectors or compute_right_eigenvectors
    if wants_vectors and not enable_eigvec_derivs:
        raise NotImplementedError(_EIGENVECTOR_DERIVATIVES)
    values, *vectors = eig_p.bind(
        *primals,
        compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=True,
        enable_eigvec_derivs=enable_eigvec_derivs,
        implementation=implementation,
    )
    right = vectors[-1]
    a_dot = convert(tangents[0], aval_of(right).dtype)
    if not wants_vectors:
        inner = mul(solve(right, a_dot), transposed(right))
        return [values], [reduce_sum(inner, (aval_of(inner).ndim - 1,))]
    values_dot, right_dot = _scaled_derivative(values, right, a_dot)
    out, out_dot = [values], [values_dot]
    if compute_left_eigenvectors:
        out.append(vectors[0])
        out_dot.append(_scaled_derivative(conj(values), vectors[0], adjoint(a_dot))[1])
    if compute_right_eigenvectors:
        out.append(right)
        out_dot.append(right_dot)
    return out, out_dot


def _scaled_derivative(values: Any, vectors: Any, a_dot: Any) -> tuple[Any, Any]:
    """Derivatives of eigenvalues, and of eigenvectors of norm 1 whose largest component is real."""
    inner = matmul(solve(vectors, a_dot), vectors)
    change = matmul(vectors, mul(reciprocal_gaps(values), inner))
    aval = aval_of(vectors)
    rows = aval.ndim - 2
    largest = argmax(abs_(vectors), rows, INT32)
    others = tuple(d for d in range(aval.ndim) if d != rows)
    largest = broadcast_in_dim(largest, aval.shape, others)
    mask = convert(eq(broadcasted_iota(INT32, aval.shape, rows), largest), aval.dtype)

    def total(x: Any) -> Any:
        return reduce_sum(x, (rows,))

    along = neg(real(total(mul(conj(vectors), change))))
    turn = neg(div(imag(total(mul(mask, change))), real(total(mul(mask, vectors)))))
    return diagonal(inner), add(change, scaled_columns(vectors, complex_(along, turn)))


not_linear(rules, eig_p)
