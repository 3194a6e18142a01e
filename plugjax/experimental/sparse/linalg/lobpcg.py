"""Largest eigenvalues of symmetric matrices by locally optimal block preconditioned conjugate gradients.

Each step looks for the best approximations in the space of the current vectors X, the directions P of the last step, and the
residuals R, in an orthonormal basis of it.

Reference:
    A. Knyazev, "Toward the optimal preconditioned eigensolver", SIAM Journal on Scientific Computing 23, 2001; U. Hetmaniuk and
    R. Lehoucq, "Basis selection in LOBPCG", Journal of Computational Physics 218, 2006.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax import jit, lax, numpy as jnp
from plugjax.extend.core import Array

_HIGHEST = lax.Precision.HIGHEST


def lobpcg_standard(
    A: Array | Callable[[Array], Array],  # noqa: N803  # the field's names
    X: Array,  # noqa: N803
    m: int = 100,
    tol: Array | float | None = None,
) -> tuple[Array, Array, Array]:
    """The largest eigenvalues of a symmetric positive matrix, and their eigenvectors.

    Args:
        A: matrix ``[n, n]``, or a function from ``[n, j]`` to its product with the matrix.
        X: ``[n, k]``, ``5 k < n``: first guesses.
        m: most steps.
        tol: relative tolerance of residuals; by default the dtype's precision.

    Returns:
        Eigenvalues ``[k]`` in descending order, eigenvectors ``[n, k]``, and the number of steps.

    Raises:
        ValueError: there are no guesses or too many, or ``A`` gives another shape or dtype.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> A = jnp.diag(jnp.arange(1.0, 13.0))
        >>> values, _, _ = sparse.linalg.lobpcg_standard(A, jnp.eye(12, 2) + 0.1)
        >>> values.round(2)
        Array([12., 11.], dtype=float32)
    """
    X = jnp.asarray(X)  # noqa: N806
    if isinstance(A, (Array, np.ndarray)):
        matrix = jnp.asarray(A)
        return _of_matrix(matrix, X, tol, m=m)
    return _of_function(A, X, tol, m=m)


def _product(a: Any, b: Any) -> Any:
    return lax.dot(a, b, precision=_HIGHEST)


@jit(static_argnames=("m",))
def _of_matrix(matrix: Any, start: Any, tol: Any, *, m: int) -> Any:
    return _search(lambda x: _product(matrix, x), start, tol, m)


@jit(static_argnames=("apply", "m"))
def _of_function(apply: Any, start: Any, tol: Any, *, m: int) -> Any:
    return _search(apply, start, tol, m)


def _check(apply: Callable[[Any], Any], start: Any) -> None:
    n, k = start.shape
    if not k:
        raise ValueError("lobpcg_standard: must have search dim > 0, got 0. Give a first guess.")
    if 5 * k >= n:
        raise ValueError(
            f"lobpcg_standard: expected search dim * 5 < matrix dim (got {5 * k}, {n}). Use jnp.linalg.eigh."
        )
    test = apply(jnp.zeros((n, 1), start.dtype))
    if test.dtype != start.dtype:
        raise ValueError(
            f"lobpcg_standard: A, X must have same dtypes (were {test.dtype}, {start.dtype})."
        )
    if test.shape != (n, 1):
        raise ValueError(
            f"lobpcg_standard: A must be ({n}, {n}) matrix A, got output {test.shape}."
        )


def _norms(x: Any) -> Any:
    return jnp.sqrt((x * x).sum(0, keepdims=True))


def _unit(x: Any) -> Any:
    norms = _norms(x)
    return x / jnp.where(norms == 0, jnp.ones((), x.dtype), norms)


def _orthonormal(x: Any) -> Any:
    """An orthonormal basis of the columns; columns of zeros in place of those that depend on others.

    By eigenvectors of the Gram matrix, twice, since the first time rounding errors of nearly dependent columns are amplified.
    """
    for _ in range(2):
        x = _unit(x)
        values, vectors = jnp.linalg.eigh(_product(x.T, x))
        least = jnp.finfo(x.dtype).eps * jnp.max(values)
        keep = values > least
        scale = jnp.where(keep, 1 / jnp.sqrt(jnp.where(keep, values, 1)), 0)
        # The largest come first.
        x = _product(x, (vectors * scale.astype(x.dtype))[:, ::-1])
    return x


def _outside(basis: Any, x: Any) -> Any:
    """An orthonormal basis of what of ``x`` is outside of the space of an orthonormal basis; zeros for the rest."""
    for _ in range(2):
        x = _orthonormal(x - _product(basis, _product(basis.T, x)))
    x = x - _product(basis, _product(basis.T, x))
    return x * (_norms(x) >= 0.99).astype(x.dtype)


def _search(apply: Callable[[Any], Any], start: Any, tol: Any, m: int) -> Any:
    _check(apply, start)
    n, k = start.shape
    dtype = start.dtype
    tol = jnp.finfo(dtype).eps if tol is None else tol
    x = _orthonormal(start)
    # Any directions will do at first.
    p = _outside(x, jnp.eye(n, k, dtype=dtype) + jnp.eye(n, k, -k, dtype=dtype))
    ax = apply(x)
    theta = (x * ax).sum(0)

    def goes_on(state: Any) -> Any:
        step, *_, converged = state
        return (step < m) & (converged < k)

    def advance(state: Any) -> Any:
        step, x, p, residuals, _, _ = state
        r = _outside(jnp.concatenate((x, p), 1), residuals)
        basis = jnp.concatenate((x, p, r), 1)
        values, vectors = jnp.linalg.eigh(_product(basis.T, apply(basis)))
        values, vectors = values[::-1], vectors[:, ::-1]
        x = _unit(_product(basis, vectors[:, :k]))
        # New directions: what the step added to X, orthogonal to the new X, in the complement of its coordinates.
        turn, _ = jnp.linalg.qr(vectors[:k, k:].T)
        p = _unit(_product(basis, _product(vectors[:, k:], turn)))
        ax = apply(x)
        theta = values[:k]
        residuals = ax - theta * x
        scale = 10 * n * (_norms(ax)[0] + theta)
        converged = (_norms(residuals)[0] < tol * scale).sum()
        return step + 1, x, p, residuals, theta, converged

    state = (0, x, p, ax - theta * x, theta, jnp.zeros((), int))
    step, x, _, _, theta, _ = lax.while_loop(goes_on, advance, state)
    return theta, x, step
