"""Trigonometric and hyperbolic primitives, and their inverses. Angles are in radians.

``accuracy`` is checked and changes nothing: see ``lax/accuracy.py``.
"""

from __future__ import annotations

from typing import Any

from plugjax.extend.core import Array, ArrayLike, Primitive, aval_of
from plugjax.extend.rules import RuleSet
from plugjax.lax.accuracy import Accuracy, check_accuracy
from plugjax.lax.arithmetic import add, div, mul, neg, square, sub
from plugjax.lax.exponential import log, rsqrt, sqrt
from plugjax.lax.families import FLOAT, INEXACT, elementwise, partials, scalar

rules = RuleSet(__name__)

sin_p = Primitive("sin")
cos_p = Primitive("cos")
tan_p = Primitive("tan")
asin_p = Primitive("asin")
acos_p = Primitive("acos")
atan_p = Primitive("atan")
atan2_p = Primitive("atan2")
sinh_p = Primitive("sinh")
cosh_p = Primitive("cosh")
tanh_p = Primitive("tanh")
asinh_p = Primitive("asinh")
acosh_p = Primitive("acosh")
atanh_p = Primitive("atanh")

for _p in (
    sin_p, cos_p, tan_p, asin_p, acos_p, atan_p, sinh_p, cosh_p, tanh_p, asinh_p, acosh_p, atanh_p,
):  # fmt: skip
    elementwise(rules, _p, accepts=INEXACT)
elementwise(rules, atan2_p, accepts=FLOAT)


def sin(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise sine.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.sin(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.841], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return sin_p.bind(x)


def cos(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise cosine.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.cos(jnp.array([0.0]))
        Array([1.], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return cos_p.bind(x)


def tan(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise tangent.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.tan(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 1.557], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return tan_p.bind(x)


def asin(x: ArrayLike) -> Array:
    """Elementwise inverse sine, in [-pi/2, pi/2].

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.asin(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 1.571], dtype=float32)
    """
    return asin_p.bind(x)


def acos(x: ArrayLike) -> Array:
    """Elementwise inverse cosine, in [0, pi].

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.round(lax.acos(jnp.array([1.0, 0.0])) * 100)
        Array([  0., 157.], dtype=float32)
    """
    return acos_p.bind(x)


def atan(x: ArrayLike) -> Array:
    """Elementwise inverse tangent, in [-pi/2, pi/2].

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.atan(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.785], dtype=float32)
    """
    return atan_p.bind(x)


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise angle of the point ``(y, x)``, in [-pi, pi]: the inverse tangent of ``x / y`` in its quadrant.

    For complex numbers, the argument that the formula ``-i log((y + ix) / sqrt(x**2 + y**2))`` continues.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.atan2(jnp.array([0.0, 1.0]), jnp.array([1.0, 1.0])).round(3)
        Array([0.   , 0.785], dtype=float32)
    """
    if aval_of(x).dtype.kind == "c" and aval_of(y).dtype.kind == "c":
        i = scalar(1j, x)
        unit = div(add(y, mul(i, x)), sqrt(add(square(y), square(x))))
        return mul(neg(i), log(unit))
    return atan2_p.bind(x, y)


def sinh(x: ArrayLike) -> Array:
    """Elementwise hyperbolic sine.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.sinh(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 1.175], dtype=float32)
    """
    return sinh_p.bind(x)


def cosh(x: ArrayLike) -> Array:
    """Elementwise hyperbolic cosine.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.cosh(jnp.array([0.0]))
        Array([1.], dtype=float32)
    """
    return cosh_p.bind(x)


def tanh(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise hyperbolic tangent.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.tanh(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.762], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return tanh_p.bind(x)


def asinh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic sine.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.asinh(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.881], dtype=float32)
    """
    return asinh_p.bind(x)


def acosh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic cosine, of values not below 1.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.acosh(jnp.array([1.0, 2.0])).round(3)
        Array([0.   , 1.317], dtype=float32)
    """
    return acosh_p.bind(x)


def atanh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic tangent, of values in [-1, 1].

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.atanh(jnp.array([0.0, 0.5])).round(3)
        Array([0.   , 0.549], dtype=float32)
    """
    return atanh_p.bind(x)


@partials(rules, sin_p)
def _sin_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: cos(x),)


@partials(rules, cos_p)
def _cos_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: neg(sin(x)),)


@partials(rules, tan_p)
def _tan_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: add(scalar(1, y), square(y)),)


@partials(rules, asin_p)
def _asin_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: rsqrt(sub(scalar(1, x), square(x))),)


@partials(rules, acos_p)
def _acos_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: neg(rsqrt(sub(scalar(1, x), square(x)))),)


@partials(rules, atan_p)
def _atan_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: div(scalar(1, x), add(scalar(1, x), square(x))),)


@partials(rules, atan2_p)
def _atan2_partials(z: Any, x: Any, y: Any) -> tuple[Any, Any]:
    def by_x() -> Any:
        return div(y, add(square(x), square(y)))

    def by_y() -> Any:
        return neg(div(x, add(square(x), square(y))))

    return by_x, by_y


@partials(rules, sinh_p)
def _sinh_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: cosh(x),)


@partials(rules, cosh_p)
def _cosh_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: sinh(x),)


@partials(rules, tanh_p)
def _tanh_partials(y: Any, x: Any) -> tuple[Any]:
    # (1 - y)(1 + y): near |y| = 1 it keeps the digits that 1 - y**2 loses.
    return (lambda: mul(sub(scalar(1, y), y), add(scalar(1, y), y)),)


@partials(rules, asinh_p)
def _asinh_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: rsqrt(add(square(x), scalar(1, x))),)


@partials(rules, acosh_p)
def _acosh_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(rsqrt(sub(x, scalar(1, x))), rsqrt(add(x, scalar(1, x)))),)


@partials(rules, atanh_p)
def _atanh_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: div(scalar(1, x), mul(sub(scalar(1, x), x), add(scalar(1, x), x))),)
