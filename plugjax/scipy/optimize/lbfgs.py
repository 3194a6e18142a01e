"""L-BFGS: BFGS from the last few steps alone, without a matrix.

The inverse Hessian's estimate is applied to a gradient by two passes over the steps s and changes y of the gradient,
newest first and then oldest first, around a multiple of the identity (Nocedal and Wright, "Numerical Optimization",
2006, algorithm 7.4). Complex arguments count as pairs of real ones: the inner product is the real part of ``conj(u)
v``, and gradients are conjugated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.transforms import value_and_grad
from plugjax.scipy.optimize.line_search import line_search


class State(NamedTuple):
    """State of the iteration; the newest step is the last."""

    x: Any
    value: Any
    gradient: Any
    steps: Any
    changes: Any
    weights: Any
    scale: Any
    iterations: Any
    evaluations: Any
    converged: Any
    status: Any


def minimize_lbfgs(
    fun: Callable[[Any], Any],
    x0: Any,
    maxiter: float | None = None,
    norm: float = np.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-5,
    maxfun: float | None = None,
    maxgrad: float | None = None,
    maxls: int = 20,
) -> State:
    """Minimize from ``x0`` with the last ``maxcor`` steps, until the ``norm`` of the gradient is below ``gtol``.

    Returns:
        The last state. Its status is 0 if it converged, else the reason of the end: 1 ``maxiter``, 2 ``maxfun``, 3
        ``maxgrad``, 4 a step that gained less than ``ftol``, 5 a line search that failed.
    """
    size = x0.shape[0]
    if maxiter is None and maxfun is None and maxgrad is None:
        maxiter = 200 * size
    bounds = [np.inf if n is None else n for n in (maxiter, maxfun, maxgrad)]
    value, gradient = value_and_grad(fun)(x0)

    def small(gradient: Any) -> Any:
        return jnp.all(jnp.linalg.norm(gradient, ord=norm) < gtol)

    def body(state: State) -> State:
        direction = _direction(state)
        found = line_search(fun, state.x, direction, state.value, state.gradient, 1.0, maxls)
        point = found.point
        step, change = point.step * direction, point.gradient - state.gradient
        product = jnp.real(_dot(change, step))
        usable = product > 0
        iterations, evaluations = state.iterations + 1, state.evaluations + found.evaluations
        status = jnp.where(state.value - point.value < ftol, 4, 0)
        counts = (iterations, evaluations, evaluations)
        for code, count, bound in reversed(list(zip((1, 2, 3), counts, bounds, strict=True))):
            status = jnp.where(count >= bound, code, status)
        status = jnp.where(found.failed, 5, status)
        converged = small(point.gradient)
        return State(
            state.x + step,
            point.value,
            point.gradient,
            _appended(state.steps, step),
            _appended(state.changes, change),
            _appended(state.weights, jnp.where(usable, 1 / product, 0)),
            jnp.where(usable, product / jnp.real(_dot(jnp.conj(change), change)), state.scale),
            iterations,
            evaluations,
            converged,
            jnp.where(converged, 0, status),
        )

    history = jnp.zeros((maxcor, size), x0.dtype)
    weights = jnp.zeros(maxcor, value.dtype)
    start = State(
        x0, value, gradient, history, history, weights, jnp.ones((), value.dtype), 0, 1, small(gradient), 0
    )  # fmt: skip
    return lax.while_loop(lambda state: ~state.converged & (state.status == 0), body, start)


def _dot(x: Any, y: Any) -> Any:
    return jnp.dot(x, y, precision=lax.Precision.HIGHEST)


def _appended(history: Any, new: Any) -> Any:
    return jnp.concatenate([history[1:], new[None]])


def _direction(state: State) -> Any:
    # Rows without a step yet have weight 0.
    def newest_first(q: Any, row: tuple[Any, Any, Any]) -> tuple[Any, Any]:
        step, change, weight = row
        a = weight * jnp.real(_dot(jnp.conj(step), q))
        return q - a * jnp.conj(change), a

    def oldest_first(q: Any, row: tuple[Any, Any, Any, Any]) -> tuple[Any, None]:
        step, change, weight, a = row
        return q + (a - weight * jnp.real(_dot(change, q))) * step, None

    rows = (state.steps, state.changes, state.weights)
    q, a = lax.scan(newest_first, -jnp.conj(state.gradient), rows, reverse=True)
    q, _ = lax.scan(oldest_first, state.scale * q, (*rows, a))
    return q
