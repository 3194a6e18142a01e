"""BFGS: a quasi-Newton method with an estimate H of the inverse Hessian.

A step s that changes the gradient by y should satisfy H y = s. Of all symmetric matrices that do, the next estimate is
the one nearest to the current one, (1 - r s y^T) H (1 - r y s^T) + r s s^T with r = 1 / y^T s (Nocedal and Wright,
"Numerical Optimization", 2006, section 6.1).
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
    """State of the iteration."""

    x: Any
    value: Any
    gradient: Any
    inverse: Any
    last_value: Any
    iterations: Any
    evaluations: Any
    converged: Any
    failed: Any
    search_status: Any


def minimize_bfgs(
    fun: Callable[[Any], Any],
    x0: Any,
    maxiter: int | None = None,
    norm: float = np.inf,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> tuple[State, Any]:
    """Minimize from ``x0`` until the ``norm`` of the gradient is below ``gtol``.

    Returns:
        The last state, and a status: 0 converged, 1 ``maxiter`` reached, above 2 a line search failed.
    """
    size = x0.shape[0]
    limit = 200 * size if maxiter is None else maxiter
    value, gradient = value_and_grad(fun)(x0)
    identity = jnp.eye(size, dtype=x0.dtype)

    def small(gradient: Any) -> Any:
        return jnp.all(jnp.linalg.norm(gradient, ord=norm) < gtol)

    def going_on(state: State) -> Any:
        return ~state.converged & ~state.failed & (state.iterations < limit)

    def body(state: State) -> State:
        direction = -_dot(state.inverse, state.gradient)
        # Rounding can spoil the estimate; it is then reset.
        downhill = _dot(direction, state.gradient) < 0
        inverse = jnp.where(downhill, state.inverse, identity)
        direction = jnp.where(downhill, direction, -state.gradient)
        # The first step should gain as much as the last one, but near the minimum it is a Newton
        # step.
        gain = 1.01 * 2 * (state.value - state.last_value) / _dot(state.gradient, direction)
        found = line_search(
            fun,
            state.x,
            direction,
            state.value,
            state.gradient,
            jnp.where((gain > 0) & (gain < 1), gain, 1),
            line_search_maxiter,
        )
        point = found.point
        step, change = point.step * direction, point.gradient - state.gradient
        return State(
            state.x + step,
            point.value,
            point.gradient,
            _improved(inverse, step, change),
            state.value,
            state.iterations + 1,
            state.evaluations + found.evaluations,
            small(point.gradient),
            found.failed,
            found.status,
        )

    last = lax.while_loop(
        going_on,
        body,
        State(
            x0,
            value,
            gradient,
            identity,
            value + jnp.linalg.norm(gradient) / 2,
            0,
            1,
            small(gradient),
            jnp.zeros((), bool),
            0,
        ),
    )
    unfinished = jnp.where(last.failed, 2 + last.search_status, 1)
    return last, jnp.where(last.converged, 0, unfinished)


def _dot(x: Any, y: Any) -> Any:
    return jnp.dot(x, y, precision=lax.Precision.HIGHEST)


def _improved(inverse: Any, step: Any, change: Any) -> Any:
    product = _dot(change, step)
    usable = product > 0
    r = 1 / jnp.where(usable, product, 1)
    # One factor after the other: expanded into sums, the product loses positive eigenvalues to
    # rounding.
    right = inverse - r * jnp.outer(_dot(inverse, change), step)
    both = right - r * jnp.outer(step, _dot(change, right))
    return jnp.where(usable, both + r * jnp.outer(step, step), inverse)
