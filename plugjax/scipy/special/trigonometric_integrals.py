"""Integrals of sines and cosines: the sine and cosine integrals, and Fresnel's.

Near 0 by their power series. Far from it, they are products of sines and cosines with auxiliary functions that do not oscillate
(DLMF 6.2(iii), 7.2(iv)), the Stieltjes integrals

    f(s) = integral of m(u) / (1 + (u s)**2),    g(s) = integral of m(u) u s / (1 + (u s)**2)    over u from 0 to infinity,

with m(u) = exp(-u) and s = 1 / x for the former (DLMF 6.7.13, 6.7.14), and m(u) = exp(-u) / sqrt(u) and s = 2 / (pi x**2) for the latter
(DLMF 7.7.10, 7.7.11). Gauss's quadrature of these measures gives them, the better the smaller s.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.numpy.promotion import ArrayLike, to_inexact
from plugjax.numpy.selection import where
from plugjax.numpy.trigonometric import sinc
from plugjax.scipy.special.operands import one_floating, strong

__all__ = ["fresnel", "sici"]

# From this bound on, 1 / s is large enough for the quadrature.
_FAR = 5.0
_Rule = tuple[tuple[float, float], ...]


def _nodes(x: Any) -> int:
    return 12 if x.dtype.itemsize == 4 else 36


def _terms(x: Any) -> int:
    return 13 if x.dtype.itemsize == 4 else 20


@functools.cache
def _laguerre(count: int) -> _Rule:
    """Nodes and weights for exp(-u)."""
    return _weighty(*np.polynomial.laguerre.laggauss(count))


@functools.cache
def _half_laguerre(count: int) -> _Rule:
    """Nodes and weights for exp(-u) / sqrt(u): the squares of Hermite's nodes."""
    v, weights = np.polynomial.hermite.hermgauss(2 * count)
    return _weighty(v[count:] ** 2, 2 * weights[count:])


def _weighty(nodes: Any, weights: Any) -> _Rule:
    return tuple((float(u), float(w)) for u, w in zip(nodes, weights, strict=True) if w > 1e-18)


def _auxiliary(s: Any, rule: _Rule) -> tuple[Any, Any]:
    """f(s) and g(s)."""
    f = g = lax.full_like(s, 0)
    for u, weight in rule:
        slope = u * s
        part = weight / (1 + slope * slope)
        f, g = f + part, g + slope * part
    return f, g


def _alternating(square: Any, coefficients: list[float]) -> Any:
    """The value of ``c_0 - c_1 t + c_2 t**2 - ...``."""
    total: Any = lax.full_like(square, 0)
    for c in reversed(coefficients):
        total = c - square * total
    return total


@custom_jvp
def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of ``sin(t) / t`` from 0 to ``x`` and of ``cos(t) / t`` from infinity to ``x``.

    Of negative ``x``, the real part of the second one.

    Returns:
        Si(x), Ci(x).

    Raises:
        ValueError: complex numbers.

    Example:
        >>> from plugjax.scipy import special
        >>> [y.round(3) for y in special.sici(1.0)]
        [Array(0.946, dtype=float32), Array(0.337, dtype=float32)]
    """
    z = strong(one_floating("sici", x, any_width=False))
    if z.dtype.itemsize < 4:
        si, ci = sici(z.astype(np.float32))
        return si.astype(z.dtype), ci.astype(z.dtype)
    size = lax.abs(z)
    far, finite = size > _FAR, size < np.inf
    near, large = where(far, 1.0, size), where(far & finite, size, _FAR)
    si_near, ci_near = _sici_series(near)
    f, g = _auxiliary(1 / large, _laguerre(_nodes(z)))
    f, sine, cosine = f / large, lax.sin(large), lax.cos(large)
    g = g / large
    si = where(far, math.pi / 2 - f * cosine - g * sine, si_near)
    ci = where(far, f * sine - g * cosine, ci_near)
    si, ci = where(size == np.inf, math.pi / 2, si), where(size == np.inf, 0.0, ci)
    return lax.sign(z) * si, where(z == -np.inf, np.nan, ci)


def _sici_series(x: Any) -> tuple[Any, Any]:
    square, terms = x * x, range(_terms(x))
    si = x * _alternating(square, [1 / ((2 * n + 1) * math.factorial(2 * n + 1)) for n in terms])
    rest = _alternating(square, [1 / ((2 * n) * math.factorial(2 * n)) for n in terms[1:]])
    return si, np.euler_gamma + lax.log(x) - square * rest


@sici.defjvp
def _sici_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    return sici(x), (x_dot * sinc(x / math.pi), x_dot * (lax.cos(x) / x))


@custom_jvp
def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """The integrals of ``sin(pi t**2 / 2)`` and of ``cos(pi t**2 / 2)`` over t from 0 to ``x``.

    Returns:
        S(x), C(x).

    Raises:
        NotImplementedError: complex numbers, as in JAX.

    Example:
        >>> from plugjax.scipy import special
        >>> [y.round(3) for y in special.fresnel(1.0)]
        [Array(0.438, dtype=float32), Array(0.78, dtype=float32)]
    """
    z = strong(to_inexact("fresnel", x))
    if z.dtype.kind == "c":
        raise NotImplementedError("fresnel: complex numbers are not supported")
    if z.dtype.itemsize < 4:
        s, c = fresnel(z.astype(np.float32))
        return s.astype(z.dtype), c.astype(z.dtype)
    size = lax.abs(z)
    far = size * size > 2 / math.pi * _FAR
    near, large = where(far, 1.0, size), where(far & (size < np.inf), size, _FAR)
    s_near, c_near = _fresnel_series(near)
    reciprocal = 1 / large
    f, g = _auxiliary(2 / math.pi * reciprocal * reciprocal, _half_laguerre(_nodes(z)))
    scale = math.pi**-1.5 * reciprocal
    f, g = scale * f, scale * g
    sine, cosine = _sine_cosine_of_square(large)
    s = where(far, 0.5 - f * cosine - g * sine, s_near)
    c = where(far, 0.5 + f * sine - g * cosine, c_near)
    sign = lax.sign(z)
    return sign * where(size == np.inf, 0.5, s), sign * where(size == np.inf, 0.5, c)


def _fresnel_series(x: Any) -> tuple[Any, Any]:
    phase = 0.5 * math.pi * x * x
    square, terms = phase * phase, range(_terms(x))
    s = _alternating(square, [1 / ((4 * n + 3) * math.factorial(2 * n + 1)) for n in terms])
    c = _alternating(square, [1 / ((4 * n + 1) * math.factorial(2 * n)) for n in terms])
    return x * phase * s, x * c


def _sine_cosine_of_square(x: Any) -> tuple[Any, Any]:
    """``sin(pi x**2 / 2)`` and ``cos(pi x**2 / 2)``, for large ``x`` too.

    With x = n + r and an integer n, ``x**2 / 2`` is ``n r + r**2 / 2`` modulo 2, plus a half if n is odd.
    """
    whole = lax.round(x)
    rest = x - whole
    odd = whole - 2 * lax.floor(0.5 * whole)
    product = whole * rest
    phase = product - 2 * lax.round(0.5 * product) + 0.5 * (rest * rest + odd)
    return lax.sin(math.pi * phase), lax.cos(math.pi * phase)


@fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    sine, cosine = _sine_cosine_of_square(x)
    return fresnel(x), (x_dot * sine, x_dot * cosine)
