"""Generalized minimal residuals, for operators of any kind (Saad and Schultz 1986).

The Arnoldi process builds an orthonormal basis V of the space of r, A r, A^2 r, ... and the Hessenberg matrix H with A
V_k = V_{k+1} H. The correction V y minimizes |r| e_1 - H y. As H grows, one rotation for each column makes it
triangular; the part of the rotated |r| e_1 below the triangle is the norm of the residual. After a number of columns
the process restarts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import pytree
from plugjax.extend.core import Array
from plugjax.lax.linalg import triangular_solve
from plugjax.numpy.promotion import convert, limits
from plugjax.scipy.sparse.linalg.systems import Operator, solved, system, unknowns
from plugjax.scipy.sparse.linalg.vectors import add, norm, subtract

_HIGHEST = lax.Precision.HIGHEST


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Array]:
    """The solution of ``A x = b`` for any invertible ``A``. Derivatives are those of the solution.

    Args:
        A: a matrix, or a linear function of pytrees like ``b``.
        b: pytree of arrays.
        x0: first guess; zeros by default.
        tol: bound of the norm of ``b - A x``, relative to that of ``b``.
        atol: absolute bound; the larger of both counts.
        restart: vectors in the basis; more converge in fewer applications of ``A``, and take more memory.
        maxiter: limit of restarts; ten for each unknown by default.
        M: an approximation of the inverse of ``A``, matrix or function.
        solve_method: ``"incremental"`` stops amid a basis when the residual is small enough, ``"batched"`` always
            completes it.

    Returns:
        ``x``, and 0, or -1 if it is nan.

    Raises:
        TypeError: ``A`` or ``M`` is neither matrix nor function.
        ValueError: a matrix that is not square, ``x0`` is not like ``b``, or another method.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.sparse.linalg import gmres
        >>> x, info = gmres(jnp.array([[0.0, 2.0], [1.0, 1.0]]), jnp.array([2.0, 3.0]))
        >>> x.round(3), int(info)
        (Array([2., 1.], dtype=float32), 0)
    """
    given = system(A, b, x0, M, maxiter)
    if solve_method not in ("incremental", "batched"):
        raise ValueError(f"gmres: solve_method is 'incremental' or 'batched', got {solve_method}.")
    precondition = given.preconditioner or (lambda x: x)
    columns = min(restart, unknowns(given.b))

    def solve(apply: Operator, b: Any) -> Any:
        size = norm(b)
        enough = jnp.maximum(tol * size, atol)
        if solve_method == "batched":
            enough_inside: Any = 0.0
        else:
            share = jnp.minimum(1, enough / jnp.where(size > 0, size, 1))
            enough_inside = norm(precondition(b)) * share

        def going_on(state: tuple[Any, Any, Any]) -> Any:
            _, r, k = state
            return (norm(r) > enough) & (k < given.maxiter)

        def body(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            x, r, k = state
            correction = _correction(
                lambda v: precondition(apply(v)), precondition(r), columns, enough_inside
            )
            x = add(x, correction)
            return x, subtract(b, apply(x)), k + 1

        start = (given.x0, subtract(b, apply(given.x0)), 0)
        return lax.while_loop(going_on, body, start)[0]

    x = solved(given, solve)
    return x, jnp.where(jnp.isnan(norm(x)), -1, 0)


class _Arnoldi(NamedTuple):
    """The process after ``k`` columns.

    ``basis`` has its vectors along the first axes of leaves, the later ones are zero; ``rotations`` is the product of
    all rotations, ``triangle`` its product with H.
    """

    k: Any
    basis: Any
    triangle: Any
    rotations: Any
    residual: Any


def _correction(apply: Operator, r: Any, columns: int, enough: Any) -> Any:
    """The vector in the space of ``r, apply(r), ...`` whose image is nearest to ``r``."""
    dtype = jnp.result_type(*pytree.leaves(r))
    size = norm(r)
    first = _unit(r, size, size > 0)
    basis = pytree.tree_map(lambda v: jnp.pad(v[None], [(0, columns), *[(0, 0)] * v.ndim]), first)

    def going_on(state: _Arnoldi) -> Any:
        # At least once: a restart that changed nothing would repeat.
        return (state.k < columns) & ((state.k == 0) | (state.residual > enough))

    def body(state: _Arnoldi) -> _Arnoldi:
        k = state.k
        basis, column = _extended(apply, state.basis, k, dtype)
        rotations = _rotated(state.rotations, column, k)
        triangle = state.triangle.at[:, k].set(_dot(rotations, column)[:columns])
        return _Arnoldi(k + 1, basis, triangle, rotations, size * abs(rotations[k + 1, 0]))

    last = lax.while_loop(
        going_on,
        body,
        _Arnoldi(0, basis, jnp.eye(columns, dtype=dtype), jnp.eye(columns + 1, dtype=dtype), size),
    )
    # A singular operator may leave a zero on the diagonal; that unknown is then zero.
    pivots = abs(jnp.diagonal(last.triangle))
    usable = (jnp.arange(columns) < last.k) & (pivots > limits(dtype).eps * pivots.max())
    triangle = last.triangle + jnp.diag(jnp.where(usable, 0, 1).astype(dtype))
    turned = last.rotations[:columns, 0]
    right = jnp.where(usable, size.astype(turned.dtype) * turned, 0)
    y = triangular_solve(triangle, right[:, None], left_side=True, lower=False)[:, 0]

    def combined(v: Any, like: Any) -> Any:
        found = jnp.tensordot(y, v[:columns], 1, precision=_HIGHEST)
        return convert(found, like.dtype, like.aval.weak_type)

    return pytree.tree_map(combined, last.basis, r)


def _dot(x: Any, y: Any) -> Any:
    return jnp.dot(x, y, precision=_HIGHEST)


def _unit(x: Any, size: Any, usable: Any) -> Any:
    divisor = jnp.where(usable, size, 1)
    return pytree.tree_map(
        lambda v: jnp.where(usable, v / divisor.astype(v.dtype), 0).astype(v.dtype), x
    )


def _extended(apply: Operator, basis: Any, k: Any, dtype: Any) -> tuple[Any, Any]:
    """The basis with one more vector, and the corresponding column of H."""
    vector = apply(pytree.tree_map(lambda v: v[k], basis))
    before = norm(vector)
    column: Any = 0
    # Project twice: the second projection removes the rounding errors of the first.
    for _ in range(2):
        parts = [
            _dot(v.reshape(v.shape[0], -1).conj(), w.ravel())
            for v, w in zip(pytree.leaves(basis), pytree.leaves(vector), strict=True)
        ]
        along = sum(parts[1:], parts[0])
        vector = pytree.tree_map(
            lambda v, w, y=along: w - jnp.tensordot(y, v, 1, precision=_HIGHEST), basis, vector
        )
        column = column + along
    size = norm(vector)
    usable = size > limits(dtype).eps * before
    basis = pytree.tree_map(lambda v, w: v.at[k + 1].set(w), basis, _unit(vector, size, usable))
    return basis, column.astype(dtype).at[k + 1].set(jnp.where(usable, size, 0).astype(dtype))


def _rotated(rotations: Any, column: Any, k: Any) -> Any:
    """The rotations, and one more that annihilates the subdiagonal element of a column."""
    pair = lax.dynamic_slice_in_dim(rotations, k, 2)
    a, b = _dot(pair, column)
    size = jnp.sqrt(abs(a) ** 2 + abs(b) ** 2)
    divisor = jnp.where(size > 0, size, 1).astype(a.dtype)
    cosine, sine = jnp.where(size > 0, a, 1) / divisor, b / divisor
    turn = jnp.stack([jnp.stack([cosine.conj(), sine.conj()]), jnp.stack([-sine, cosine])])
    return lax.dynamic_update_slice_in_dim(rotations, _dot(turn, pair), k, 0)
