"""Owen's T function: the probability that X > h and 0 < Y < a X, for independent standard normal X and Y.

    T(h, a) = 1 / (2 pi) * integral of exp(-h**2 (1 + x**2) / 2) / (1 + x**2) over x from 0 to a.

For ``a`` up to 1 by Gauss's quadrature, over the part of the interval where the exponential function is not negligible;
above, with Phi the distribution function of one of them, ``T(h, a) + T(a h, 1/a) = (Phi(h) + Phi(a h)) / 2 - Phi(h)
Phi(a h)`` for ``h >= 0``.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.special.operands import floating, strong

__all__ = ["owens_t"]


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T function.

    Raises:
        ValueError: complex numbers.

    Reference:
        Owen, "Tables for computing bivariate normal probabilities", Annals of Mathematical Statistics 27, 1956.

    Example:
        >>> from plugjax.scipy import special
        >>> special.owens_t(0.0, 1.0).round(5)
        Array(0.125, dtype=float32)
    """
    height, slope = floating("owens_t", h, a)
    if height.dtype.itemsize < 4:
        height, slope = height.astype(np.float32), slope.astype(np.float32)
    return _owens_t(strong(height), strong(slope))


@functools.cache
def _rule(count: int) -> tuple[tuple[float, float], ...]:
    """The positive nodes of Gauss and Legendre among twice as many, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(2 * count)
    return tuple(zip(nodes[count:].tolist(), weights[count:].tolist(), strict=True))


@custom_jvp
def _owens_t(h: Array, a: Array) -> Array:
    # Beyond 1000 everything is 0; a finite slope keeps infinity times zero from being nan.
    height = lax.min(lax.abs(h), lax.full_like(h, 1e3))
    size = lax.min(lax.abs(a), lax.full_like(a, np.finfo(a.dtype).max))
    steep = size > 1
    low = where(steep, lax.min(size * height, lax.full_like(h, 1e3)), height)
    flat = where(steep, 1 / where(steep, size, 1.0), size)
    found = _integral(low, flat)
    x, y = height * math.sqrt(0.5), low * math.sqrt(0.5)
    p, q = lax.erfc(x), lax.erfc(y)
    # The second form is accurate where both are small, the first one where both are near 1.
    corner = where(y < 0.5, 0.25 * (1 - lax.erf(x) * lax.erf(y)), 0.25 * (p + q - p * q))
    found = lax.sign(a) * where(steep, corner - found, found)
    return where((h != h) | (a != a), np.nan, found)


def _integral(h: Any, a: Any) -> Any:
    """T(h, a) for ``0 <= a <= 1``."""
    reach, count = (5.5, 10) if h.dtype.itemsize == 4 else (8.5, 20)
    end = where(a * h > reach, reach / where(h > 1, h, 1.0), a)
    total: Any = lax.full_like(h, 0)
    for node, weight in _rule(count):
        x = node * end
        square = x * x
        total = total + weight * lax.exp(-0.5 * (h * h * square)) / (1 + square)
    return lax.exp(-0.5 * (h * h)) * end * total * (0.5 / math.pi)


@_owens_t.defjvp
def _owens_t_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (h, a), (h_dot, a_dot) = primals, tangents
    bell = lax.exp(-0.5 * (h * h))
    by_h = bell * lax.erf(a * h * math.sqrt(0.5)) * (-0.5 / math.sqrt(2 * math.pi))
    by_a = bell * lax.exp(-0.5 * (a * h) * (a * h)) / (2 * math.pi * (1 + a * a))
    return _owens_t(h, a), by_h * h_dot + by_a * a_dot
