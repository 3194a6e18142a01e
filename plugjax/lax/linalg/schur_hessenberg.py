"""Unitary similarity: Schur form A = Q T Q^H, T (block) upper triangular, and Hessenberg form, zero below the subdiagonal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.core import Array, ArrayLike, Primitive, as_array
from plugjax.extend.rules import RuleSet
from plugjax.lax.linalg.family import check_square, matrix_primitive, no_derivative

rules = RuleSet(__name__)

schur_p = Primitive("schur", multiple_results=True)
hessenberg_p = Primitive("hessenberg", multiple_results=True)


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Array]:
    """Schur form; of a real matrix the real form, with blocks of 2 for pairs of complex eigenvalues.

    Shapes:
        x: ``[..., n, n]``, floating or complex.

    Args:
        x: the matrices.
        compute_schur_vectors: whether to return Q.
        sort_eig_vals: must be false, as in JAX.
        select_callable: accepted as in JAX; not used.

    Returns:
        ``[T, Q]``, or ``[T]``.

    Raises:
        ValueError: the matrices are not square.
        NotImplementedError: ``sort_eig_vals``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import schur
        >>> t, q = schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))
        >>> jnp.diagonal(t)
        Array([1., 3.], dtype=float32)
    """
    if sort_eig_vals:
        raise NotImplementedError("schur: sort_eig_vals is not supported here; leave it out.")
    del select_callable
    found: list[Any] = schur_p.bind(
        as_array(x, "schur"), compute_schur_vectors=bool(compute_schur_vectors)
    )
    return found


def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """Hessenberg form as LAPACK stores it.

    Shapes:
        a: ``[..., n, n]``, floating or complex.

    Returns:
        The form in the upper triangle and the subdiagonal, reflections below them, ``[..., n, n]``; their factors tau,
        ``[..., n - 1]``.

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import hessenberg
        >>> hessenberg(jnp.array([[4.0, 1.0, 2.0], [3.0, 1.0, 0.0], [4.0, 0.0, 1.0]]))[1].round(3)
        Array([1.6, 0. ], dtype=float32)
    """
    packed, taus = hessenberg_p.bind(as_array(a, "hessenberg"))
    return packed, taus


def _schur_shapes(
    shape: tuple[int, ...], *, compute_schur_vectors: bool
) -> Sequence[tuple[int, ...]]:
    check_square("schur", shape)
    return [shape, shape] if compute_schur_vectors else [shape]


def _hessenberg_shapes(shape: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    check_square("hessenberg", shape)
    return [shape, (max(shape[0] - 1, 0),)]


matrix_primitive(rules, schur_p, (2,), _schur_shapes)
matrix_primitive(rules, hessenberg_p, (2,), _hessenberg_shapes)
no_derivative(rules, schur_p, hessenberg_p)
