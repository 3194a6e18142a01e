"""Initial value problems: the names of ``jax.experimental.ode``.

dy/dt = f(y, t, p) is integrated by the embedded Runge-Kutta pair of orders 5 and 4 of Dormand and Prince. Each step estimates its own
error and sets the length of the next one. A polynomial of degree 4 gives values between the ends of a step, so the times that the
user asks for do not shorten steps.

The reverse derivative does not differentiate the steps. The cotangent a of y(t) solves da/dt = -a df/dy, backwards in time, and the
cotangents of the parameters and of the times are integrals along the way. Between two times of the user one problem with the state (y, a,
cotangent of t, cotangents of p) is integrated backwards; at each time the cotangent of the value there is added to a.

Reference:
    J. R. Dormand, P. J. Prince, "A family of embedded Runge-Kutta formulae", 1980.
    L. F. Shampine, "Some practical Runge-Kutta formulas", Mathematics of Computation 46, 1986 (the value at half a step).
    E. Hairer, S. P. Norsett, G. Wanner, "Solving Ordinary Differential Equations I", section II.4 (control of steps).
    R. T. Q. Chen et al., "Neural ordinary differential equations", 2018, appendix C (the reverse derivative).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import dtypes, pytree
from plugjax.extend.calls import closure_convert, custom_vjp
from plugjax.extend.core import aval_of, config, valid_jaxtype
from plugjax.extend.execution import jit
from plugjax.extend.transforms import publish, vjp, vmap
from plugjax.flatten_util import ravel_pytree

__all__ = ["odeint"]

Dynamics = Callable[..., Any]

# The pair's tableau: times of the stages, their weights, weights of the value of order 5 (the last stage is the next step's first),
# and what these differ by from the weights of order 4.
_TIMES = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
_STAGES = np.zeros((7, 7))
_STAGES[1, :1] = 1 / 5
_STAGES[2, :2] = 3 / 40, 9 / 40
_STAGES[3, :3] = 44 / 45, -56 / 15, 32 / 9
_STAGES[4, :4] = 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729
_STAGES[5, :5] = 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656
_STAGES[6, :6] = 35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84
_VALUE = _STAGES[6]
_ERROR = _VALUE - np.array(
    [1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60]
)
_MIDDLE = (
    np.array(
        [
            6025192743 / 30085553152, 0, 51252292925 / 65400821598, -2691868925 / 45128329728,
            187940372067 / 1594534317056, -1776094331 / 19743644256, 11237099 / 235043384,
        ]
    )
    / 2
)  # fmt: skip
# y(t + s h) = y(t) + h sum_p s^p (_DENSE k)_p for p = 1 to 4: the polynomial with the step's two ends, two slopes and middle. Its
# coefficients in terms of (y(t + h) - y(t)) / h, (y(t + h/2) - y(t)) / h and the slopes are the rows of the first factor.
_DENSE = np.array([[0, 0, 1, 0], [-5, 16, -4, 1], [14, -32, 5, -3], [-8, 16, -2, 2]]) @ np.stack(
    [_VALUE, _MIDDLE, np.eye(7)[0], np.eye(7)[6]]
)
# Control of the steps: the next one is the last one times a factor, which keeps the error somewhat below the tolerance.
_SAFETY, _MOST, _LEAST, _ORDER = 0.9, 10.0, 0.2, 5


class _Settings(NamedTuple):
    rtol: Any
    atol: Any
    mxstep: Any
    hmax: Any


def odeint(
    func: Dynamics,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = jnp.inf,
    hmax: float = jnp.inf,
) -> Any:
    """Integrate a system of ordinary differential equations, with steps of the length that the tolerances need.

    It works under ``jit`` and ``vmap``, and has a reverse derivative by ``y0``, ``t``, ``args`` and what ``func`` closes over.

    Args:
        func: ``(y, t, *args) -> dy/dt``, of the structure and shapes of ``y``.
        y0: value at the first time: a pytree of inexact arrays, real or complex.
        t: ``[n]``, floating: times of the results, which increase or decrease.
        *args: pytrees of arrays, handed to ``func``.
        rtol: tolerated error of a step, relative to the values.
        atol: tolerated error of a step, absolute.
        mxstep: most steps from one time to the next. The result is extrapolated if these do not suffice.
        hmax: longest step.

    Returns:
        Values at the times: the structure of ``y0``, each leaf with a leading axis of size n.

    Raises:
        TypeError: ``t`` is not an array of floats, ``args`` have leaves that are not arrays, or ``func`` changes shapes or dtypes.

    Differs from JAX:
        Times may decrease.
        ``args`` may have leaves of integers under differentiation.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental.ode import odeint
        >>> odeint(lambda y, t, rate: -rate * y, 1.0, jnp.array([0.0, 1.0, 2.0]), 0.5).round(4)
        Array([1.    , 0.6065, 0.3679], dtype=float32)
    """
    for leaf in pytree.leaves(args):
        if not valid_jaxtype(leaf):
            raise TypeError(
                f"The contents of odeint *args must be arrays or scalars, but got {leaf!r}. Give anything else to func by a closure."
            )
    if not hasattr(t, "dtype") or not dtypes.is_float(aval_of(t).dtype):
        raise TypeError(
            f"t must be an array of floats, but got {t!r}. Make it one: jnp.asarray(t, float)."
        )
    converted, hoisted = closure_convert(func, y0, t[0], *args)
    # The function itself is the better static argument: its compiled solver is found again.
    function = converted if hoisted else func
    return _solve_tree(function, _Settings(rtol, atol, mxstep, hmax), y0, t, *args, *hoisted)


@jit(static_argnums=(0, 1))
def _solve_tree(func: Dynamics, settings: _Settings, y0: Any, ts: Any, *args: Any) -> Any:
    start, unravel = ravel_pytree(y0)
    leaves, tree = pytree.flatten(args)

    def flat(y: Any, t: Any, *xs: Any) -> Any:
        slope = ravel_pytree(func(unravel(y), t, *pytree.unflatten(tree, xs)))[0]
        if slope.shape != y.shape:
            raise TypeError(
                f"odeint: y and func(y, t) have incompatible shapes for broadcasting: y has {y.size} numbers, func gives {slope.size}. "
                "Return the derivative of y, with y's structure and shapes."
            )
        return slope

    return vmap(unravel)(_solve(flat, settings, start, ts, *leaves))


def _values(func: Dynamics, settings: _Settings, y0: Any, ts: Any, *args: Any) -> Any:
    """Values ``[n, size]`` at the times, of a system whose state is a vector."""
    with config.override("default_matmul_precision", "highest"):
        return _integrate(func, settings, y0, ts, args)


_solve: Any = custom_vjp(_values, nondiff_argnums=(0, 1))


class _State(NamedTuple):
    """Where the integration is, and its last accepted step.

    Attributes:
        y: value.
        slope: derivative.
        t: time.
        h: length of the next step.
        before: value before the last step.
        t_before: time before the last step.
        stages: slopes in the last step, ``[7, size]``.
    """

    y: Any
    slope: Any
    t: Any
    h: Any
    before: Any
    t_before: Any
    stages: Any


def _integrate(func: Dynamics, settings: _Settings, y0: Any, ts: Any, args: Sequence[Any]) -> Any:
    rtol, atol, mxstep, hmax = settings
    # Time runs forwards: descending times change their signs, and the slopes theirs.
    sign = jnp.where(ts[-1] < ts[0], -1, 1).astype(ts.dtype)
    ts = sign * ts

    def slope_at(y: Any, t: Any) -> Any:
        slope = func(y, sign * t, *args)
        return sign.astype(slope.dtype) * slope

    def attempt(state: _State) -> _State:
        y, stages = _step(slope_at, state)
        error = state.h.astype(y.dtype) * jnp.dot(_ERROR.astype(stages.dtype), stages)
        scale = atol + rtol * jnp.maximum(jnp.abs(state.y), jnp.abs(y))
        ratio = _mean_ratio(error, scale)
        h = jnp.clip(_next_length(state.h, ratio), 0, hmax)
        accepted = _State(y, stages[-1], state.t + state.h, h, state.y, state.t, stages)
        rejected = state._replace(h=h)
        return _State(
            *(jnp.where(ratio <= 1, *pair) for pair in zip(accepted, rejected, strict=True))
        )

    def advance(state: _State, target: Any) -> tuple[_State, Any]:
        def unfinished(counted: tuple[Any, _State]) -> Any:
            count, now = counted
            return (now.t < target) & (count < mxstep) & (now.h > 0)

        _, state = lax.while_loop(
            unfinished, lambda counted: (counted[0] + 1, attempt(counted[1])), (0, state)
        )
        return state, _between(state, target)

    slope = slope_at(y0, ts[0])
    h = jnp.clip(_first_length(slope_at, settings, y0, ts[0], slope), 0, hmax).astype(ts.dtype)
    stages = jnp.zeros((7, y0.size), slope.dtype)
    start = _State(y0, slope, ts[0], h, y0, ts[0], stages)
    _, ys = lax.scan(advance, start, ts[1:])
    return jnp.concatenate([y0[None], ys])


def _step(slope_at: Dynamics, state: _State) -> tuple[Any, Any]:
    """Value after a step, and the slopes of its stages."""
    y, slope, t, h = state[:4]
    times, weights = jnp.asarray(_TIMES, h.dtype), jnp.asarray(_STAGES, slope.dtype)

    def stage(i: Any, stages: Any) -> Any:
        y_stage = y + h.astype(y.dtype) * jnp.dot(weights[i], stages)
        return stages.at[i].set(slope_at(y_stage, t + times[i] * h))

    # A loop, so that `func` is in the program once.
    stages = jnp.zeros_like(state.stages).at[0].set(slope)
    stages = lax.fori_loop(1, 7, stage, stages)
    return y + h.astype(y.dtype) * jnp.dot(_VALUE.astype(stages.dtype), stages), stages


def _between(state: _State, target: Any) -> Any:
    """The value at a time within the last step."""
    h = state.t - state.t_before
    part = jnp.where(target == state.t_before, 0, (target - state.t_before) / h)
    coefficients = jnp.dot(_DENSE.astype(state.stages.dtype), state.stages)
    powers = (part ** jnp.arange(1, 5)).astype(coefficients.dtype)
    return state.before + h.astype(coefficients.dtype) * jnp.dot(powers, coefficients)


def _mean_ratio(error: Any, scale: Any) -> Any:
    """Root of the mean square of error by tolerance, real."""
    ratio = jnp.abs(error) / scale
    return jnp.sqrt(jnp.mean(ratio * ratio))


def _next_length(h: Any, ratio: Any) -> Any:
    """Length of the next step. The error of a step grows with the fifth power of its length; an accepted step does not shrink it."""
    least = jnp.where(ratio < 1, 1.0, _LEAST)
    factor = jnp.clip(_SAFETY * ratio ** (-1 / _ORDER), least, _MOST)
    return h * jnp.where(ratio == 0, _MOST, factor).astype(h.dtype)


def _first_length(slope_at: Dynamics, settings: _Settings, y0: Any, t0: Any, slope: Any) -> Any:
    """Length of the first step: an Euler step estimates the second derivative (Hairer et al., II.4)."""
    scale = settings.atol + jnp.abs(y0) * settings.rtol
    size, speed = jnp.linalg.norm(y0 / scale), jnp.linalg.norm(slope / scale)
    trial = jnp.where((size < 1e-5) | (speed < 1e-5), 1e-6, 0.01 * size / speed)
    after = slope_at(y0 + trial.astype(y0.dtype) * slope, t0 + trial.astype(t0.dtype))
    bend = jnp.linalg.norm((after - slope) / scale) / trial
    most = jnp.maximum(speed, bend)
    straight = (speed <= 1e-15) & (bend <= 1e-15)
    length = jnp.where(straight, jnp.maximum(1e-6, 1e-3 * trial), (0.01 / most) ** (1 / _ORDER))
    return jnp.minimum(100 * trial, length)


def _forward(func: Dynamics, settings: _Settings, y0: Any, ts: Any, *args: Any) -> tuple[Any, Any]:
    ys = _solve(func, settings, y0, ts, *args)
    return ys, (ys, ts, args)


def _backward(func: Dynamics, settings: _Settings, residuals: Any, ys_bar: Any) -> tuple[Any, ...]:
    ys, ts, args = residuals
    smooth = [i for i, x in enumerate(args) if dtypes.is_inexact(aval_of(x).dtype)]

    def slopes(state: Any, t: Any, *given: Any) -> Any:
        y, y_bar, *_ = state
        xs = [given[i] for i in smooth]

        def at(y: Any, t: Any, *xs: Any) -> Any:
            whole = list(given)
            for i, x in zip(smooth, xs, strict=True):
                whole[i] = x
            return func(y, t, *whole)

        slope, pullback = vjp(at, y, t, *xs)
        bars = pullback(y_bar)
        return slope, *(-bar for bar in bars[:2]), [-bar for bar in bars[2:]]

    def back(carry: Any, i: Any) -> tuple[Any, Any]:
        y_bar, t_bar, args_bar = carry
        # Moving the time of a result moves it along its slope, and shortens the way back.
        own_bar = jnp.dot(func(ys[i], ts[i], *args), ys_bar[i]).real.astype(ts.dtype)
        state = ys[i], y_bar, t_bar - own_bar, args_bar
        ends = jnp.stack([ts[i], ts[i - 1]])
        _, y_bar, t_bar, args_bar = pytree.tree_map(
            lambda x: x[1], _solve_tree(slopes, settings, state, ends, *args)
        )
        return (y_bar + ys_bar[i - 1], t_bar, args_bar), own_bar

    with config.override("default_matmul_precision", "highest"):
        start = ys_bar[-1], jnp.zeros((), ts.dtype), [jnp.zeros_like(args[i]) for i in smooth]
        carry, own_bars = lax.scan(back, start, jnp.arange(len(ts) - 1, 0, -1))
    y_bar, t_bar, args_bar = carry
    whole: list[Any] = [None] * len(args)
    for i, bar in zip(smooth, args_bar, strict=True):
        whole[i] = bar
    return y_bar, jnp.concatenate([t_bar[None], own_bars[::-1]]), *whole


_solve.defvjp(_forward, _backward)

publish(globals(), __all__)
