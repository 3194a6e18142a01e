"""Trigonometric and hyperbolic functions; angles in radians."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.extend.execution import eager_program
from plugjax.numpy.promotion import ArrayLike, pick, promote_inexact, scalar, to_inexact

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
    "atan", "atan2", "atanh", "cos", "cosh", "deg2rad", "degrees", "rad2deg", "radians", "sin", "sinc", "sinh",
    "tan", "tanh",
]  # fmt: skip


@eager_program(1)
def sin(x: ArrayLike, /) -> Array:
    """Sine of an angle in radians.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.sin(jnp.pi / 6).round(3)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.sin(to_inexact("sin", x))


@eager_program(1)
def cos(x: ArrayLike, /) -> Array:
    """Cosine of an angle in radians.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.cos(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return lax.cos(to_inexact("cos", x))


@eager_program(1)
def tan(x: ArrayLike, /) -> Array:
    """Tangent of an angle in radians.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.tan(jnp.array([0.0, 1.0])), 3)
        Array([0.   , 1.557], dtype=float32)
    """
    return lax.tan(to_inexact("tan", x))


@eager_program(1)
def arcsin(x: ArrayLike, /) -> Array:
    """Inverse sine, in radians in [-pi/2, pi/2]; nan outside [-1, 1].

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.arcsin(jnp.array([0.0, 1.0])), 3)
        Array([0.   , 1.571], dtype=float32)
    """
    return lax.asin(to_inexact("arcsin", x))


@eager_program(1)
def arccos(x: ArrayLike, /) -> Array:
    """Inverse cosine, in radians in [0, pi]; nan outside [-1, 1].

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.arccos(jnp.array([1.0, 0.0])), 3)
        Array([0.   , 1.571], dtype=float32)
    """
    return lax.acos(to_inexact("arccos", x))


@eager_program(1)
def arctan(x: ArrayLike, /) -> Array:
    """Inverse tangent, in radians in [-pi/2, pi/2].

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.arctan(jnp.array([0.0, 1.0])), 3)
        Array([0.   , 0.785], dtype=float32)
    """
    return lax.atan(to_inexact("arctan", x))


def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Angle of the point ``(x2, x1)``, in radians in [-pi, pi].

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.arctan2(jnp.array([1.0, -1.0]), jnp.array([0.0, -1.0])), 3)
        Array([ 1.571, -2.356], dtype=float32)
    """
    return lax.atan2(*promote_inexact("arctan2", x1, x2))


@eager_program(1)
def sinh(x: ArrayLike, /) -> Array:
    """Hyperbolic sine.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.sinh(jnp.array([0.0, 1.0])), 3)
        Array([0.   , 1.175], dtype=float32)
    """
    return lax.sinh(to_inexact("sinh", x))


@eager_program(1)
def cosh(x: ArrayLike, /) -> Array:
    """Hyperbolic cosine.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.cosh(jnp.array([0.0, 1.0])), 3)
        Array([1.   , 1.543], dtype=float32)
    """
    return lax.cosh(to_inexact("cosh", x))


@eager_program(1)
def tanh(x: ArrayLike, /) -> Array:
    """Hyperbolic tangent.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.tanh(1.0).round(3)
        Array(0.762, dtype=float32, weak_type=True)
    """
    return lax.tanh(to_inexact("tanh", x))


@eager_program(1)
def arcsinh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic sine.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.arcsinh(jnp.array([0.0, 1.0])), 3)
        Array([0.   , 0.881], dtype=float32)
    """
    return lax.asinh(to_inexact("arcsinh", x))


@eager_program(1)
def arccosh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic cosine; nan below 1.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.arccosh(jnp.array([1.0, 2.0])), 3)
        Array([0.   , 1.317], dtype=float32)
    """
    return lax.acosh(to_inexact("arccosh", x))


@eager_program(1)
def arctanh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic tangent; nan outside [-1, 1].

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.arctanh(jnp.array([0.0, 0.5])), 3)
        Array([0.   , 0.549], dtype=float32)
    """
    return lax.atanh(to_inexact("arctanh", x))


acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh


def degrees(x: ArrayLike, /) -> Array:
    """An angle in radians as degrees.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.degrees(jnp.array([0.0, jnp.pi])), 3)
        Array([  0., 180.], dtype=float32)
    """
    x = to_inexact("degrees", x)
    return lax.mul(x, scalar(180 / np.pi, x))


def radians(x: ArrayLike, /) -> Array:
    """An angle in degrees as radians.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.radians(jnp.array([0.0, 180.0])), 3)
        Array([0.   , 3.142], dtype=float32)
    """
    x = to_inexact("radians", x)
    return lax.mul(x, scalar(np.pi / 180, x))


deg2rad = radians
rad2deg = degrees


def sinc(x: ArrayLike, /) -> Array:
    """Normalised sinc, ``sin(pi x) / (pi x)``, 1 at 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.sinc(jnp.array([0.0, 0.5])), 3)
        Array([1.   , 0.637], dtype=float32)
    """
    x = to_inexact("sinc", x)
    at_zero = lax.eq(x, scalar(0, x))
    angle = lax.mul(scalar(np.pi, x), x)
    elsewhere = pick(at_zero, scalar(1, x), angle)
    # At 0 the derivatives are those of the series; the quotient's would be 0 / 0.
    return pick(at_zero, _sinc_at_zero(0)(angle), _ratio(lax.sin(elsewhere), elsewhere))


@functools.cache
def _sinc_at_zero(order: int) -> Callable[[Any], Any]:
    """The derivative of ``sin(t) / t`` at 0, as a function of ``t`` that is constant and has the derivatives of higher order."""
    value = 0.0 if order % 2 else (-1) ** (order // 2) / (order + 1)

    @custom_jvp
    def constant(t: Any) -> Any:
        return lax.full_like(t, value)

    @constant.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (t,), (t_dot,) = primals, tangents
        return constant(t), lax.mul(_sinc_at_zero(order + 1)(t), t_dot)

    return constant


@custom_jvp
def _ratio(x: Any, y: Any) -> Any:
    return lax.div(x, y)


@_ratio.defjvp
def _ratio_jvp(primals: Any, tangents: Any) -> Any:
    """With ``1 / y**2``: where ``x`` is near ``sin(y)`` this loses less than two quotients."""
    (x, y), (x_dot, y_dot) = primals, tangents
    by_y = lax.mul(lax.mul(lax.neg(y_dot), x), lax.integer_pow(y, -2))
    return _ratio(x, y), lax.add(lax.div(x_dot, y), by_y)
