"""Conjugate gradients, for positive definite operators (Hestenes and Stiefel 1952)."""

from __future__ import annotations

from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import pytree
from plugjax.scipy.sparse.linalg.systems import Operator, solved, system
from plugjax.scipy.sparse.linalg.vectors import add, real_dot, scaled, subtract


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """The solution of ``A x = b`` for a Hermitian positive definite ``A``. Derivatives are those of the solution.

    Args:
        A: a matrix, or a linear function of pytrees like ``b``.
        b: pytree of arrays.
        x0: first guess; zeros by default.
        tol: bound of the norm of ``b - A x``, relative to that of ``b``.
        atol: absolute bound; the larger of both counts.
        maxiter: limit of iterations; ten for each unknown by default.
        M: an approximation of the inverse of ``A``, matrix or function.

    Returns:
        ``x``, and ``None``.

    Raises:
        TypeError: ``A`` or ``M`` is neither matrix nor function.
        ValueError: a matrix that is not square, or ``x0`` is not like ``b``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.sparse.linalg import cg
        >>> x, _ = cg(lambda x: {"u": 2 * x["u"]}, {"u": jnp.array([2.0, 4.0])})
        >>> x
        {'u': Array([1., 2.], dtype=float32)}
    """
    given = system(A, b, x0, M, maxiter)
    precondition = given.preconditioner

    def solve(apply: Operator, b: Any) -> Any:
        enough = jnp.maximum(jnp.square(tol) * real_dot(b, b), jnp.square(atol))

        # z is the preconditioned residual, and rz its product with the residual r.
        def going_on(state: tuple[Any, ...]) -> Any:
            _, r, rz, _, k = state
            return ((rz.real if precondition is None else real_dot(r, r)) > enough) & (
                k < given.maxiter
            )

        def body(state: tuple[Any, ...]) -> tuple[Any, ...]:
            x, r, rz, p, k = state
            q = apply(p)
            alpha = rz / real_dot(p, q).astype(rz.dtype)
            x, r = add(x, scaled(alpha, p)), subtract(r, scaled(alpha, q))
            z = r if precondition is None else precondition(r)
            new = real_dot(r, z).astype(rz.dtype)
            return x, r, new, add(z, scaled(new / rz, p)), k + 1

        r = subtract(b, apply(given.x0))
        z = r if precondition is None else precondition(r)
        rz = real_dot(r, z).astype(jnp.result_type(*pytree.leaves(z)))
        return lax.while_loop(going_on, body, (given.x0, r, rz, z, 0))[0]

    symmetric = all(x.dtype.kind != "c" for x in pytree.leaves(given.b))
    return solved(given, solve, symmetric), None
