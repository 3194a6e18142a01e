"""Cholesky factors: A = L L^H of a positive definite matrix, and their update by a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Array, ArrayLike, Primitive, as_array
from plugjax.extend.errors import ShapeError
from plugjax.extend.rules import RuleSet, batching_rule, jvp_rule
from plugjax.lax.arithmetic import add, div
from plugjax.lax.derived import batching_by_loop
from plugjax.lax.families import FLOAT
from plugjax.lax.linalg.family import (
    check_square,
    core_shape,
    matrix_primitive,
    no_derivative,
    not_linear,
)
from plugjax.lax.linalg.matrices import identity_like, matmul, symmetrized, tril
from plugjax.lax.linalg.triangular_solve import triangular_solve
from plugjax.lax.shape import full_like

rules = RuleSet(__name__)

cholesky_p = Primitive("cholesky")
cholesky_update_p = Primitive("cholesky_update")


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular ``L`` with ``L L^H = x``.

    Shapes:
        x: ``[..., n, n]``, floating or complex, Hermitian and positive definite -> the same.

    Args:
        x: the matrices.
        symmetrize_input: whether to take the Hermitian part of ``x`` first; otherwise its lower triangle alone is read.

    Returns:
        The factors; nan everywhere in one whose matrix is not positive definite.

    Raises:
        TypeError: the matrices are not square.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import cholesky
        >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        Array([[2., 0.],
               [1., 2.]], dtype=float32)
    """
    operand = as_array(x, "cholesky")
    if symmetrize_input:
        if operand.ndim < 2 or operand.shape[-1] != operand.shape[-2]:
            raise ShapeError(f"cholesky: matrices must be square, got {operand.aval.str_short()}.")
        operand = symmetrized(operand)
    return tril(cholesky_p.bind(operand))


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The factor of ``A + w w^T`` from that of ``A``, in O(n^2).

    Shapes:
        r_matrix: ``[n, n]``, floating, upper triangular, with ``R^T R = A``.
        w_vector: ``[n]`` -> ``[n, n]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import cholesky_update
        >>> cholesky_update(3.0 * jnp.eye(2), jnp.array([4.0, 0.0]))
        Array([[5., 0.],
               [0., 3.]], dtype=float32)
    """
    return cholesky_update_p.bind(
        as_array(r_matrix, "cholesky_update"), as_array(w_vector, "cholesky_update")
    )


def _cholesky_shape(shape: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    check_square("cholesky", shape)
    return [shape]


def _update_shape(r: tuple[int, ...], w: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    if r[0] != r[1] or w[0] != r[1]:
        raise ValueError(f"cholesky_update needs r [n, n] and w [n], got shapes {r} and {w}.")
    return [r]


matrix_primitive(rules, cholesky_p, (2,), _cholesky_shape)
matrix_primitive(
    rules, cholesky_update_p, (2, 1), _update_shape, accepts=(FLOAT, FLOAT), batched=False
)


@rules.define(jvp_rule, cholesky_p)
def _cholesky_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """``L_dot = L phi(L^-1 A_dot L^-H)``, phi the lower triangle with half of the diagonal.

    Reference:
        Murray, "Differentiation of the Cholesky decomposition", 2016, equation (8).
    """
    factor = tril(cholesky_p.bind(*primals))
    inner = triangular_solve(
        factor, tangents[0], left_side=False, lower=True, transpose_a=True, conjugate_a=True
    )
    inner = triangular_solve(factor, inner, left_side=True, lower=True)
    halves = add(full_like(factor, 1), identity_like(factor, core_shape(factor)[0]))
    return factor, matmul(factor, div(tril(inner), halves))


rules.define(batching_rule, cholesky_update_p)(batching_by_loop(cholesky_update_p))
not_linear(rules, cholesky_p)
no_derivative(rules, cholesky_update_p)
