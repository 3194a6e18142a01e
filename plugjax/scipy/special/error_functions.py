"""The error function and its relatives: the normal distribution and Dawson's integral."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.special.faddeeva import faddeeva
from plugjax.scipy.special.operands import float32_or_64, one_floating, one_inexact, strong

__all__ = ["dawsn", "erf", "erfc", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]

_ROOT_PI = math.sqrt(math.pi)
_LOG_ROOT_2PI = math.log(2 * math.pi) / 2


def erf(x: ArrayLike) -> Array:
    """The error function.

    Example:
        >>> from plugjax.scipy import special
        >>> special.erf(1.0).round(3)
        Array(0.843, dtype=float32, weak_type=True)
    """
    return lax.erf(one_inexact("erf", x))


def erfc(x: ArrayLike) -> Array:
    """``1 - erf(x)`` without cancellation.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.erfc(jnp.array([0.0]))
        Array([1.], dtype=float32)
    """
    return lax.erfc(one_inexact("erfc", x))


def erfinv(x: ArrayLike) -> Array:
    """The inverse of the error function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.erfinv(jnp.array([0.0, 0.5])).round(3)
        Array([0.   , 0.477], dtype=float32)
    """
    return lax.erf_inv(one_inexact("erfinv", x))


def erfcx(x: ArrayLike) -> Array:
    """``exp(x**2) * erfc(x)``, of real or complex numbers, which does not underflow.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.erfcx(jnp.array([0.0]))
        Array([1.], dtype=float32)
    """
    found = strong(one_inexact("erfcx", x))
    return faddeeva(1j * found) if found.dtype.kind == "c" else _erfcx(found)


@custom_jvp
def _erfcx(x: Array) -> Array:
    if x.dtype.itemsize < 4:
        return _erfcx(x.astype(np.float32)).astype(x.dtype)
    # DLMF 7.12.1: sum of (-1)**n (1/2)_n / x**(2n), where erfc would underflow.
    far = x > (9 if x.dtype.itemsize == 4 else 26)
    near, large = where(far, 1.0, x), where(far, x, 30.0)
    t = 1 / (large * large)
    tail = lax.full_like(large, 1)
    for n in range(9, 0, -1):
        tail = 1 - (n - 0.5) * t * tail
    return where(far, tail / (_ROOT_PI * large), lax.exp(near * near) * lax.erfc(near))


_erfcx.defjvps(lambda x_dot, y, x: x_dot * (2 * x * y - 2 / _ROOT_PI))


def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral, ``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to ``x``.

    Reference:
        Rybicki, "Dawson's integral and the sampling theorem", 1989.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.dawsn(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.538], dtype=float32)
    """
    return _dawsn(strong(one_floating("dawsn", x)))


@custom_jvp
def _dawsn(x: Array) -> Array:
    if x.dtype.itemsize < 4:
        return _dawsn(x.astype(np.float32)).astype(x.dtype)
    step = 0.2
    size = lax.abs(x)
    far = size > 1e4
    middle = where(far, 1.0, size)
    even = 2 * lax.round(middle / (2 * step))
    rest = middle - even * step
    total = lax.full_like(middle, 0)
    for odd in range(-31, 32, 2):
        distance = rest - odd * step
        total = total + lax.exp(-distance * distance) / (even + odd)
    # Near 0 the sum cancels; its series is 2**n x**(2n + 1) / (2n + 1)!!, with changing signs.
    square = size * size
    series = lax.full_like(size, 1)
    for n in range(8, 0, -1):
        series = 1 - 2 * square / (2 * n + 1) * series
    found = where(size < 0.2, size * series, total / _ROOT_PI)
    tail = 0.5 / size
    return lax.sign(x) * where(far, tail + 2 * tail * tail * tail, found)


_dawsn.defjvps(lambda x_dot, y, x: x_dot * (1 - 2 * x * y))


def ndtr(x: ArrayLike) -> Array:
    """Distribution function of the standard normal distribution.

    Raises:
        TypeError: neither float32 nor float64.

    Example:
        >>> from plugjax.scipy import special
        >>> special.ndtr(0.0)
        Array(0.5, dtype=float32)
    """
    return _ndtr(strong(float32_or_64(x, "ndtr")))


def _ndtr(x: Array) -> Array:
    w = x * math.sqrt(0.5)
    central = lax.abs(w) < math.sqrt(0.5)
    tail = lax.erfc(lax.abs(w))
    return 0.5 * where(central, 1 + lax.erf(w), where(w > 0, 2 - tail, tail))


@partial(custom_jvp, nondiff_argnums=(1,))
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Logarithm of :func:`ndtr`, in the lower tail by an asymptotic series.

    Args:
        x: float32 or float64.
        series_order: number of terms of the series, 0 to 30.

    Raises:
        TypeError: another dtype, or an order that is not an integer.
        ValueError: an order outside of its range.

    Reference:
        DLMF 7.12.1.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.log_ndtr(0.0).round(3)
        Array(-0.693, dtype=float32)
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr: series_order is a Python integer, got {series_order!r}.")
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: series_order is between 0 and 30, got {series_order}.")
    z = strong(float32_or_64(x, "log_ndtr"))
    lower, upper = (-10, 5) if z.dtype.itemsize == 4 else (-20, 8)
    near = _ndtr(where(z > upper, -z, lax.max(z, lax.full_like(z, lower))))
    far = lax.min(z, lax.full_like(z, lower))
    t = 1 / (far * far)
    series = term = lax.full_like(far, 1)
    for n in range(1, series_order + 1):
        term = -(2 * n - 1) * t * term
        series = series + term
    tail = -0.5 * far * far - lax.log(-far) - _LOG_ROOT_2PI + lax.log(series)
    return where(z > upper, -near, where(z > lower, lax.log(near), tail))


@log_ndtr.defjvp
def _log_ndtr_jvp(series_order: int, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    y = log_ndtr(x, series_order)
    return y, x_dot * lax.exp(-0.5 * x * x - _LOG_ROOT_2PI - y)


def ndtri(p: ArrayLike) -> Array:
    """The inverse of :func:`ndtr`; nan outside of [0, 1].

    In the tails by Newton's method on the logarithm of the distribution function, which is concave.

    Raises:
        TypeError: neither float32 nor float64.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.ndtri(jnp.array([0.5, 0.75])).round(3)
        Array([0.   , 0.674], dtype=float32)
    """
    return _ndtri(strong(float32_or_64(p, "ndtri")))


@custom_jvp
def _ndtri(p: Array) -> Array:
    middle = math.sqrt(2) * lax.erf_inv(2 * p - 1)
    lower = lax.min(p, 1 - p)
    tail = (lower < 0.05) & (lower > 0)
    target = lax.log(where(tail, lower, 0.01))
    x = -lax.sqrt(-2 * target - _LOG_ROOT_2PI)
    for _ in range(5):
        # The reciprocal of Mills' ratio gives both log ndtr and its derivative.
        scaled = 0.5 * _erfcx(-x * math.sqrt(0.5))
        value = lax.log(scaled) - 0.5 * x * x
        x = x - (value - target) * scaled * math.sqrt(2 * math.pi)
    found = where(tail, where(p < 0.5, x, -x), middle)
    edge = where(p == 0, -np.inf, where(p == 1, np.inf, found))
    return where((p < 0) | (p > 1), np.nan, edge)


_ndtri.defjvps(lambda p_dot, y, p: p_dot * math.sqrt(2 * math.pi) * lax.exp(0.5 * y * y))
