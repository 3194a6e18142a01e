"""Spence's function: the integral of ``log(t) / (1 - t)`` over t from 1 to x, which is the dilogarithm of ``1 - x``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.special.operands import as_arrays, float32_or_64, strong

__all__ = ["spence"]

# B_2k / (2k + 1)!, the highest first.
_DEBYE = tuple(
    b / math.factorial(2 * k + 1)
    for k, b in reversed(
        list(enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6), start=1))
    )
)


def spence(x: ArrayLike) -> Array:
    """Spence's function of real numbers; nan below 0.

    Raises:
        TypeError: neither float32 nor float64.

    Reference:
        't Hooft and Veltman, "Scalar one-loop integrals", Nuclear Physics B 153, 1979: a series in the logarithm.

    Example:
        >>> from plugjax.scipy import special
        >>> special.spence(0.0).round(5)
        Array(1.64493, dtype=float32)
    """
    return _spence(strong(float32_or_64(as_arrays(x)[0], "spence")))


@custom_jvp
def _spence(x: Any) -> Array:
    inside = (x > 0) & (x < np.inf)
    safe = where(inside, x, 1.0)
    # spence(x) + spence(1/x) = -log(x)**2 / 2 leads to x <= 1; spence(x) + spence(1-x) = pi**2/6 - log(x) log(1-x) to x >= 1/2.
    above = safe > 2
    low = where(above, 1 / safe, safe)
    swapped = low < 0.5
    log_low = lax.log(low)
    value = _series(where(swapped, lax.log1p(-where(swapped, low, 0.5)), log_low))
    found = where(
        swapped,
        math.pi**2 / 6 - log_low * lax.log1p(-where(swapped, low, 0.5)) - value,
        value,
    )
    found = where(above, -0.5 * log_low * log_low - found, found)
    edge = where(x == 0, math.pi**2 / 6, where(x == np.inf, -np.inf, np.nan))
    return where(inside, found, edge)


def _series(log_x: Any) -> Any:
    """Of ``-log(x)``, which is at most log 2: with it as u, ``u - u**2 / 4 + sum of B_2k u**(2k + 1) / (2k + 1)!``."""
    u = -log_x
    square = u * u
    total: Any = lax.full_like(u, 0)
    for coefficient in _DEBYE:
        total = (total + coefficient) * square
    return u * (1 - 0.25 * u + total)


@_spence.defjvp
def _spence_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    at_one = x == 1
    slope = where(at_one, -1.0, lax.log(x) / where(at_one, 1.0, 1 - x))
    return _spence(x), x_dot * slope
