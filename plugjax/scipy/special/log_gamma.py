"""Logarithm of the gamma function; in the complex plane, its analytic continuation from the positive numbers.

Stirling's series (DLMF 5.11.1) serves where the real part is large; below, the recurrence ``log Gamma(z) = log Gamma(z
+ 1) - log z`` leads there, and reflection leads from the left half-plane to the right one. In the upper half-plane,
where ``1 - exp(2 pi i z)`` has a positive real part, reflection reads without a choice of branches

    log Gamma(z) = log(2 pi) + i pi (z - 1/2) - log(1 - exp(2 pi i z)) - log Gamma(1 - z),

and the lower half-plane is its mirror image.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.numpy.promotion import ArrayLike, to_inexact
from plugjax.numpy.selection import where
from plugjax.scipy.special.operands import strong

__all__ = ["complex_loggamma", "loggamma"]

# B_2k / (2k (2k - 1)), the highest first.
_STIRLING = (
    -3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12,
)  # fmt: skip
_LOG_2PI = math.log(2 * math.pi)


def loggamma(x: ArrayLike) -> Array:
    """Logarithm of the gamma function, of real or complex numbers.

    Unlike :func:`gammaln` it is nan for real numbers that are not positive. As complex numbers these have a logarithm,
    the limit from above, except at the poles, the integers.

    Example:
        >>> from plugjax.scipy import special
        >>> special.loggamma(-0.5 + 0j).round(4)
        Array(1.2655-3.1416j, dtype=complex64)
    """
    x = to_inexact("loggamma", x)
    if x.dtype.kind == "c":
        return complex_loggamma(strong(x))
    return where(x > 0, lax.lgamma(x), np.nan)


def complex_loggamma(z: Any) -> Array:
    """:func:`loggamma` of a complex array."""
    re, im = lax.real(z), lax.imag(z)
    unknown = (re != re) | (im != im) | ((im == 0) & (re <= 0) & (lax.floor(re) == re))
    below = im < 0
    re, im = where(unknown, 1.0, re), where(unknown, 0.0, where(below, -im, im))
    left = re < 0.5
    right: Any = _right_half_plane(lax.complex(where(left, 1 - re, re), where(left, -im, im)))
    found = where(left, _reflected(re, im) - right, right)
    found = where(below, lax.conj(found), found)
    return where(unknown, complex(math.nan, math.nan), found)


def _reflected(re: Any, im: Any) -> Any:
    """``log(2 pi) + i pi (z - 1/2) - log(1 - exp(2 pi i z))``."""
    angle = math.pi * (re - lax.round(re))
    sine, size = lax.sin(angle), lax.exp(-2 * math.pi * im)
    difference = lax.complex(
        2 * size * sine * sine - lax.expm1(-2 * math.pi * im), -2 * size * sine * lax.cos(angle)
    )
    return lax.complex(_LOG_2PI - math.pi * im, math.pi * (re - 0.5)) - lax.log(difference)


def _right_half_plane(z: Any) -> Any:
    shift = 4 if z.dtype.itemsize == 8 else 8
    near = (lax.real(z) < shift) & (lax.abs(lax.imag(z)) < shift)
    start, steps = where(near, z, 1.0), lax.full_like(z, 0)
    for k in range(0, shift, 2):
        # Both factors have a positive real part: the argument of the product is the sum of their
        # arguments.
        steps = steps + lax.log((start + k) * (start + (k + 1)))
    far = where(near, z + shift, z)
    reciprocal = 1 / far
    square = reciprocal * reciprocal
    series: Any = lax.full_like(far, 0)
    for coefficient in _STIRLING:
        series = series * square + coefficient
    found = (far - 0.5) * lax.log(far) - far + 0.5 * _LOG_2PI + series * reciprocal
    return where(near, found - steps, found)
