"""The Faddeeva function, ``exp(-z**2) erfc(-i z)``: the error functions in the complex plane.

In the upper half-plane by Weideman's expansion: the map ``Z = (L + i z) / (L - i z)`` takes the half-plane to the unit disk, and
``(L - i z)**2 w(z) - (L - i z) / sqrt(pi)`` is a power series in Z, with Fourier coefficients of a smooth function, which fall
geometrically. The lower half-plane follows by ``w(z) = 2 exp(-z**2) - w(-z)``.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.numpy.promotion import ArrayLike, converted, to_inexact
from plugjax.numpy.selection import where
from plugjax.scipy.special.operands import strong

__all__ = ["faddeeva", "wofz"]

_ROOT_PI = math.sqrt(math.pi)


def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function, ``exp(-z**2) erfc(-i z)``, of complex or real numbers.

    Reference:
        Weideman, "Computation of the complex error function", SIAM Journal on Numerical Analysis 31, 1994.

    Example:
        >>> from plugjax.scipy import special
        >>> special.wofz(0j).round(6)
        Array(1.+0.j, dtype=complex64)
    """
    x = to_inexact("wofz", z)
    if x.dtype.kind != "c":
        x = converted(x, np.dtype(np.complex128 if x.dtype.itemsize == 8 else np.complex64))
    return faddeeva(strong(x))


@functools.cache
def _expansion(terms: int) -> tuple[float, tuple[float, ...]]:
    """L and the coefficients of the powers of Z, the highest first."""
    scale = math.sqrt(terms / math.sqrt(2))
    count = 2 * terms
    angles = np.pi / count * np.arange(1 - count, count)
    t = scale * np.tan(angles / 2)
    values = np.exp(-t * t) * (scale * scale + t * t)
    powers = np.arange(terms, 0, -1)[:, None]
    coefficients = (np.cos(powers * angles) * values).sum(1) / (2 * count)
    return scale, tuple(coefficients.tolist())


@custom_jvp
def faddeeva(z: Array) -> Array:
    """:func:`wofz` of a complex array."""
    scale, coefficients = _expansion(20 if z.dtype.itemsize == 8 else 40)
    upper = lax.imag(z) >= 0
    turned = 1j * where(upper, z, -z)
    denominator = scale - turned
    point = (scale + turned) / denominator
    series: Any = lax.full_like(point, 0)
    for coefficient in coefficients:
        series = series * point + coefficient
    found = (2 * series / denominator + 1 / _ROOT_PI) / denominator
    bell = lax.exp(-z * z)
    # Not 2 * bell: the product of infinity with the imaginary part of 2 is nan.
    return where(upper, found, bell + bell - found)


faddeeva.defjvps(lambda z_dot, w, z: z_dot * (2j / _ROOT_PI - 2 * z * w))
