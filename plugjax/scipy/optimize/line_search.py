"""Line search: a step along a direction that satisfies the strong Wolfe conditions.

With phi(t) the function along the direction, a step t is taken if phi(t) <= phi(0) + c1 t phi'(0) and |phi'(t)| <= c2
|phi'(0)|. Steps grow until two steps bracket such a step; then interpolation shrinks the bracket (Nocedal and Wright,
"Numerical Optimization", 2006, algorithms 3.5 and 3.6). Both parts are one loop here, with one evaluation of the
function in it:
``low`` is the best step so far that satisfies the first condition; ``high`` bounds the interval once a step is too
long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import pytree
from plugjax.extend.transforms import value_and_grad
from plugjax.numpy.promotion import limits

_SUFFICIENT, _CURVATURE = 1e-4, 0.9
_MAX_CLOSING = 30
# Least distance of an interpolated step from the ends of the interval, as a fraction of its length.
_CUBIC_MARGIN, _QUADRATIC_MARGIN = 0.2, 0.1


class Point(NamedTuple):
    """A step along the direction, with value, slope and gradient of the function there."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class Found(NamedTuple):
    """Result of a search; ``status`` is 0, 1 if the interval shrank to nothing, 3 if steps only grew."""

    point: Point
    failed: Any
    status: Any
    evaluations: Any


class _Search(NamedTuple):
    trial: Any
    low: Point
    high: Point
    third: Point
    bracketed: Any
    count: Any
    evaluations: Any
    done: Any
    failed: Any


def line_search(
    fun: Callable[[Any], Any],
    x: Any,
    direction: Any,
    value: Any,
    gradient: Any,
    first_step: Any,
    maxiter: int,
) -> Found:
    """Search from ``x``, where value and gradient of ``fun`` are known, in a direction of descent.

    A failed search returns its best point, which may be ``x``.
    """
    slope = _slope(gradient, direction)
    start = Point(jnp.zeros_like(slope), value, slope, gradient)
    tolerance = 1e-5 if limits(slope.dtype).bits < 64 else 1e-10

    def body(state: _Search) -> _Search:
        t = state.trial
        new_value, new_gradient = value_and_grad(fun)(x + t * direction)
        here = Point(
            t,
            new_value.astype(value.dtype),
            _slope(new_gradient, direction),
            new_gradient.astype(gradient.dtype),
        )
        opening = ~state.bracketed
        # Written so that a nan counts as too high.
        too_high = ~(here.value <= value + _SUFFICIENT * t * slope)
        too_high |= (here.value >= state.low.value) & (state.bracketed | (state.count > 0))
        done = ~too_high & (abs(here.slope) <= -_CURVATURE * slope)
        ahead = jnp.where(opening, 1, state.high.step - state.low.step)
        turned = ~too_high & ~done & (here.slope * ahead >= 0)
        low = _pick(too_high, state.low, here)
        high = _pick(too_high, here, _pick(turned, state.low, state.high))
        third = _pick(too_high | turned, state.high, state.low)
        bracketed = state.bracketed | too_high | turned
        count = jnp.where(bracketed & opening, 0, state.count + 1)
        width = abs(high.step - low.step)
        closed = width <= tolerance * jnp.maximum(high.step, low.step)
        stuck = jnp.where(bracketed, closed | (count >= _MAX_CLOSING), count >= maxiter)
        trial = jnp.where(bracketed, _between(low, high, third, count > 0), 2 * t)
        return _Search(
            trial, low, high, third, bracketed, count, state.evaluations + 1, done, stuck & ~done
        )

    false = jnp.zeros((), bool)
    trial = jnp.asarray(first_step, slope.dtype)
    found = lax.while_loop(
        lambda state: ~(state.done | state.failed),
        body,
        _Search(trial, start, start, start, false, 0, 0, false, false),
    )
    status = jnp.where(found.failed, jnp.where(found.bracketed, 1, 3), 0)
    return Found(found.low, found.failed, status, found.evaluations)


def _slope(gradient: Any, direction: Any) -> Any:
    return jnp.dot(gradient, direction, precision=lax.Precision.HIGHEST).real


def _pick(which: Any, yes: Point, no: Point) -> Point:
    found: Point = pytree.tree_map(lambda a, b: jnp.where(which, a, b), yes, no)
    return found


def _between(low: Point, high: Point, third: Point, cubic_too: Any) -> Any:
    """The minimum of the cubic or the quadratic through the ends, if it is well inside; else the middle."""
    width = high.step - low.step
    left, right = jnp.minimum(low.step, high.step), jnp.maximum(low.step, high.step)

    def inside(step: Any, margin: float) -> Any:
        away = margin * abs(width)
        return (step > left + away) & (step < right - away)

    cubic, quadratic = _cubic_minimum(low, high, third), _quadratic_minimum(low, high)
    step = jnp.where(inside(quadratic, _QUADRATIC_MARGIN), quadratic, low.step + width / 2)
    return jnp.where(cubic_too & inside(cubic, _CUBIC_MARGIN), cubic, step)


def _quadratic_minimum(low: Point, high: Point) -> Any:
    width = high.step - low.step
    bend = (high.value - low.value - low.slope * width) / width**2
    return low.step - low.slope / (2 * bend)


def _cubic_minimum(low: Point, high: Point, third: Point) -> Any:
    # a t^3 + b t^2 + slope t + value, with t from low, through the other two values.
    s, t = high.step - low.step, third.step - low.step
    at_s = (high.value - low.value - low.slope * s) / s**2
    at_t = (third.value - low.value - low.slope * t) / t**2
    a = (at_s - at_t) / (s - t)
    b = at_s - a * s
    return low.step + (-b + jnp.sqrt(b * b - 3 * a * low.slope)) / (3 * a)
