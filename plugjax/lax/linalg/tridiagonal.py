"""Tridiagonal matrices: reduction of a Hermitian matrix to tridiagonal form, and linear systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    Zero,
    add_any,
    as_array,
    aval_of,
    instantiate,
)
from plugjax.extend.dtypes import DType
from plugjax.extend.rules import RuleSet, jvp_rule, transpose_rule
from plugjax.extend.transforms import is_undefined_primal
from plugjax.lax.arithmetic import add, neg
from plugjax.lax.families import scalar
from plugjax.lax.joining import pad
from plugjax.lax.linalg.family import matrix_primitive, no_derivative
from plugjax.lax.linalg.matrices import real_dtype, scaled_rows

rules = RuleSet(__name__)

tridiagonal_p = Primitive("tridiagonal", multiple_results=True)
tridiagonal_solve_p = Primitive("tridiagonal_solve")


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """A Hermitian matrix reduced to tridiagonal form by reflections.

    Shapes:
        a: ``[..., n, n]``, floating or complex, n > 0.

    Args:
        a: the matrices.
        lower: which triangle is read.

    Returns:
        The form with the reflections, ``[..., n, n]``, as LAPACK stores them; its diagonal ``[..., n]`` and its
        off-diagonal ``[..., n - 1]``, real; the reflections' factors tau, ``[..., n - 1]``.

    Raises:
        ValueError: the matrices are empty or not square.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import tridiagonal
        >>> tridiagonal(jnp.array([[1.0, 2.0], [2.0, 3.0]]))[1]
        Array([1., 3.], dtype=float32)
    """
    packed, d, e, taus = tridiagonal_p.bind(as_array(a, "tridiagonal"), lower=bool(lower))
    return packed, d, e, taus


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """The solution of ``A x = b`` with a tridiagonal matrix A.

    Shapes:
        dl, d, du: ``[..., m]``: ``A[i, i-1]``, ``A[i, i]`` and ``A[i, i+1]`` at place i; ``dl[0]`` and ``du[m-1]`` are
            not read.
        b: ``[..., m, k]`` -> the same.

    Args:
        dl: below the diagonal.
        d: the diagonal.
        du: above the diagonal.
        b: the right-hand sides.
        perturb_singular: whether pivots near zero are perturbed, so that the result is finite.

    Raises:
        TypeError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import tridiagonal_solve
        >>> zero = jnp.zeros(2)
        >>> tridiagonal_solve(zero, jnp.array([2.0, 4.0]), zero, jnp.ones((2, 1)))
        Array([[0.5 ],
               [0.25]], dtype=float32)
    """
    operands = [as_array(x, "tridiagonal_solve") for x in (dl, d, du, b)]
    return tridiagonal_solve_p.bind(*operands, perturb_singular=bool(perturb_singular))


def _tridiagonal_shapes(shape: tuple[int, ...], *, lower: bool) -> Sequence[tuple[int, ...]]:
    size = shape[0]
    if size != shape[1] or not size:
        raise ValueError(
            f"tridiagonal needs square matrices that are not empty, got shape {shape}."
        )
    return [shape, (size,), (size - 1,), (size - 1,)]


def _tridiagonal_dtypes(dtype: DType, *, lower: bool) -> Sequence[DType]:
    return [dtype, real_dtype(dtype), real_dtype(dtype), dtype]


def _solve_shape(
    dl: tuple[int, ...], d: tuple[int, ...], du: tuple[int, ...], b: tuple[int, ...], **_: Any
) -> Sequence[tuple[int, ...]]:
    if not dl == d == du:
        raise TypeError(f"tridiagonal_solve needs diagonals of one shape, got {dl}, {d} and {du}.")
    if d != b[:-1]:
        raise TypeError(
            f"tridiagonal_solve: diagonals of shape {d} do not fit b of shape {b}: its last axis counts right-hand "
            "sides."
        )
    return [b]


matrix_primitive(rules, tridiagonal_p, (2,), _tridiagonal_shapes, dtypes=_tridiagonal_dtypes)
matrix_primitive(rules, tridiagonal_solve_p, (1, 1, 1, 2), _solve_shape)
no_derivative(rules, tridiagonal_p)


def _shifted(x: Any, axis: int, by: int) -> Any:
    """``x[i - by]`` at position i; zero beyond the ends."""
    config = [(0, 0, 0)] * aval_of(x).ndim
    config[axis] = (by, -by, 0)
    return pad(x, scalar(0, x), config)


@rules.define(jvp_rule, tridiagonal_solve_p)
def _solve_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """From ``A x = b``: ``x_dot = A^-1 (b_dot - A_dot x)``."""
    *diagonals, b = primals
    *diagonals_dot, b_dot = tangents
    x = tridiagonal_solve_p.bind(*diagonals, b, **params)
    right: Any = b_dot
    if any(type(t) is not Zero for t in diagonals_dot):
        below, middle, above = (instantiate(t) for t in diagonals_dot)
        axis = aval_of(x).ndim - 2
        change = add(
            scaled_rows(below, _shifted(x, axis, 1)), scaled_rows(above, _shifted(x, axis, -1))
        )
        right = add_any(b_dot, neg(add(change, scaled_rows(middle, x))))
    return x, tridiagonal_solve_p.bind(*diagonals, right, **params)


@rules.define(transpose_rule, tridiagonal_solve_p)
def _solve_transpose(x_bar: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> list[Any]:
    assert is_undefined_primal(b)
    axis = aval_of(d).ndim - 1
    below, above = _shifted(du, axis, 1), _shifted(dl, axis, -1)
    return [None, None, None, tridiagonal_solve_p.bind(below, d, above, x_bar, **params)]
