"""Biconjugate gradients, stabilized, for operators of any kind (van der Vorst 1992).

Each iteration takes a step of biconjugate gradients, and then one that minimizes the residual along the new direction.
"""

from __future__ import annotations

from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import pytree
from plugjax.numpy.promotion import convert, join_dtypes
from plugjax.scipy.sparse.linalg.systems import Operator, solved, system
from plugjax.scipy.sparse.linalg.vectors import add, dot, pick, real_dot, scaled, subtract

# A division by zero in the next iteration ends the loop: its number becomes negative.
_BREAKDOWN = -1


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """The solution of ``A x = b`` for any invertible ``A``; arguments, results and errors as of :func:`cg`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.sparse.linalg import bicgstab
        >>> x, _ = bicgstab(jnp.array([[0.0, 2.0], [1.0, 1.0]]), jnp.array([2.0, 3.0]))
        >>> x.round(3)
        Array([2., 1.], dtype=float32)
    """
    given = system(A, b, x0, M, maxiter)
    precondition = given.preconditioner or (lambda x: x)

    def solve(apply: Operator, b: Any) -> Any:
        enough = jnp.maximum(jnp.square(tol) * real_dot(b, b), jnp.square(atol))

        def going_on(state: tuple[Any, ...]) -> Any:
            _, r, *_, k = state
            return (real_dot(r, r) > enough) & (k >= 0) & (k < given.maxiter)

        def body(state: tuple[Any, ...]) -> tuple[Any, ...]:
            x, r, shadow, alpha, omega, rho, p, q, k = state
            new = dot(shadow, r)
            beta = new / rho * alpha / omega
            p = add(r, scaled(beta, subtract(p, scaled(omega, q))))
            p_hat = precondition(p)
            q = apply(p_hat)
            alpha = new / dot(shadow, q)
            s = subtract(r, scaled(alpha, q))
            half_way = add(x, scaled(alpha, p_hat))
            s_hat = precondition(s)
            t = apply(s_hat)
            omega = dot(t, s) / dot(t, t)
            early = real_dot(s, s) < enough
            x = pick(early, half_way, add(half_way, scaled(omega, s_hat)))
            r = pick(early, s, subtract(s, scaled(omega, t)))
            broken = (new == 0) | (alpha == 0) | (omega == 0)
            return x, r, shadow, alpha, omega, new, p, q, jnp.where(broken, _BREAKDOWN, k + 1)

        r = subtract(b, apply(given.x0))
        dtype, weak = join_dtypes(*pytree.leaves(b))
        one = convert(jnp.asarray(1), dtype, weak)
        return lax.while_loop(going_on, body, (given.x0, r, r, one, one, one, r, r, 0))[0]

    return solved(given, solve), None
