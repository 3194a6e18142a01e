"""Gauss's function F(a, b; c; x), the sum of ``(a)_k (b)_k x**k / ((c)_k k!)``, continued to all real x below 1.

* Far below 0, Pfaff's transformation ``(1-x)**-a F(a, c-b; c; x/(x-1))`` leads to arguments between 0 and 1 (DLMF 15.8.1).
* Near 1, F is a combination of two such functions of 1-x (DLMF 15.8.4), with gamma functions that become infinite if c-a-b is
  whole; the limit has logarithms (DLMF 15.8.10), after Euler's transformation if c-a-b is negative (DLMF 15.8.1).
* A sum that ends, because a or b is zero or a negative whole number, is taken as it is, for any x; so is one of Euler's
  transformation that ends earlier.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.extend.execution import jit
from plugjax.numpy.promotion import ArrayLike, broadcast_together, promote_many_inexact
from plugjax.numpy.selection import where
from plugjax.scipy.special.hypergeometric_series import (
    along,
    ends,
    ends_before,
    gamma_quotient,
    matters,
    series,
    series_slopes,
)
from plugjax.scipy.special.operands import as_arrays, strong

__all__ = ["hyp2f1"]

_NEAR_ONE = 0.9
_MOST_TERMS = 500


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """The hypergeometric function F(a, b; c; x) of real numbers.

    It is infinite above 1, and where ``c`` is zero or a negative integer, unless the sum ends before.

    Raises:
        TypeError: complex numbers.

    Example:
        >>> from plugjax.scipy import special
        >>> special.hyp2f1(-1.0, 2.0, 4.0, 0.5)
        Array(0.75, dtype=float32)
    """
    operands = [strong(v) for v in promote_many_inexact("hyp2f1", *as_arrays(a, b, c, x))]
    dtype = operands[0].dtype
    if dtype.itemsize < 4:
        operands = [v.astype(np.float32) for v in operands]
    return _hyp2f1(*broadcast_together(*operands)).astype(dtype)


@custom_jvp
@jit
def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Array:
    gap = c - a - b
    degree, other = _degree(a, b), _degree(c - a, c - b)
    # A shorter finite sum, after Euler's transformation, where the power is real.
    euler = (other < degree) & ((x < 1) | _is_whole(gap)) & ~ends(c)
    euler = euler & ((degree < np.inf) | (x < -0.5) | (x > 0.5))
    finite = euler | (degree < np.inf)
    turned = (x < -0.5) & ~finite
    p, q = where(euler, c - a, a), where(euler, c - b, where(turned, c - b, b))
    inside = where((x < 1) | finite, x, 0.0)
    z = where(turned, inside / (inside - 1), inside)
    y = where(turned, 1 / (1 - inside), 1 - inside)
    near_one = (z > _NEAR_ONE) & ~finite
    gap = where(turned, b - a, gap)
    whole = near_one & _is_whole(gap)
    split = near_one & ~whole
    lower = where(split, 1 - gap, c)
    found = series((p, q), (lower,), where(split, y, where(whole, 0.0, z)), ~whole)
    found = where(split, _connected(p, q, c, gap, y, found, split), found)
    found = where(whole, _logarithmic(p, q, c, gap, y, whole), found)
    exponent = where(euler, gap, where(turned, -a, 0.0))
    found = found * _power(1 - x, exponent)
    limit = where(gap > 0, _at_one(a, b, c, (x == 1) & (gap > 0)), np.inf)
    found = where((x == 1) & ~finite, limit, where((x > 1) & ~finite, np.inf, found))
    infinite = ends(c) & (x != 0) & ~ends_before(a, c) & ~ends_before(b, c)
    known = (a == a) & (b == b) & (c == c) & (x == x)
    return where(known, where(infinite, np.inf, found), np.nan)


def _degree(a: Any, b: Any) -> Any:
    """The degree of the sum as a polynomial, infinite if it does not end."""
    return lax.min(where(ends(a), -a, np.inf), where(ends(b), -b, np.inf))


def _is_whole(gap: Any) -> Any:
    """Whether the connection formula's gamma functions cancel more digits than rounding the gap costs."""
    tolerance = float(np.finfo(gap.dtype).eps) ** 0.5
    return lax.abs(gap - lax.floor(gap + 0.5)) < tolerance


def _power(base: Any, exponent: Any) -> Any:
    """``base**exponent``, also for negative bases if the exponent is an integer; 1 if it is 0."""
    idle = exponent == 0
    size = lax.exp(exponent * lax.log(where(idle, 1.0, lax.abs(base))))
    half = 0.5 * lax.floor(exponent + 0.5)
    return where((base < 0) & (lax.floor(half) != half), -size, size)


def _at_one(a: Any, b: Any, c: Any, needed: Any) -> Any:
    """``F(a, b; c; 1)``, where ``c > a + b`` (DLMF 15.4.20)."""
    a, b, c = (where(needed, v, default) for v, default in ((a, 0.5), (b, 0.5), (c, 2.0)))
    return gamma_quotient((c, c - a - b), (c - a, c - b), 0.0)


def _connected(a: Any, b: Any, c: Any, gap: Any, y: Any, regular: Any, needed: Any) -> Any:
    """``F(a, b; c; 1 - y)`` for small ``y``, where ``gap``, which is ``c - a - b``, is not whole.

    ``regular`` is ``F(a, b; 1 - gap; y)``.
    """
    a, b, c = (where(needed, v, default) for v, default in ((a, 0.5), (b, 0.5), (c, 1.5)))
    gap, y = where(needed, gap, 0.5), where(needed, y, 0.5)
    singular = series((c - a, c - b), (1 + gap,), y, needed)
    first = gamma_quotient((c, gap), (c - a, c - b), 0.0)
    second = gamma_quotient((c, -gap), (a, b), gap * lax.log(y))
    return first * regular + second * singular


def _logarithmic(a: Any, b: Any, c: Any, gap: Any, y: Any, needed: Any) -> Any:
    """``F(a, b; c; 1 - y)`` for small ``y``, where ``gap``, which is ``c - a - b``, is whole."""
    a, b, c = (where(needed, v, default) for v, default in ((a, 0.5), (b, 0.5), (c, 1.0)))
    gap, y = where(needed, lax.floor(gap + 0.5), 0.0), where(needed, y, 0.1)
    euler = gap < 0
    p, q, m = where(euler, c - a, a), where(euler, c - b, b), lax.abs(gap)
    log_y = lax.log(y)

    def step(carry: Any) -> Any:
        k, (term, tail, bracket), (total, tail_total) = carry
        last = m <= k + 1
        term = where(
            last, 0.0, term * (p + k) * (q + k) * y / ((k + 1) * where(last, 1.0, k + 1 - m))
        )
        up, uq = p + m + k, q + m + k
        bracket = bracket - 1 / (k + 1) - 1 / (k + 1 + m) + 1 / up + 1 / uq
        tail = tail * up * uq * y / ((k + 1) * (k + 1 + m))
        return k + 1, (term, tail, bracket), (total + term, tail_total + tail * bracket)

    def unfinished(carry: Any) -> Any:
        k, (term, tail, bracket), (total, tail_total) = carry
        more = matters(term, total) | matters(tail * bracket, tail_total) | (tail_total == 0)
        return (more & needed).any() & (k < _MOST_TERMS)

    one, zero = lax.full_like(y, 1), lax.full_like(y, 0)
    digammas = lax.digamma(p + m) + lax.digamma(q + m) - lax.digamma(m + 1) + np.euler_gamma
    bracket = log_y + digammas
    start = (y.dtype.type(0), (one, one, bracket), (one, bracket))
    _, _, (total, tail_total) = lax.while_loop(unfinished, step, start)
    several = m > 0
    total = where(several, total, zero)
    powers = gamma_quotient((where(several, m, 1.0), c), (p + m, q + m), zero) * total
    odd = 2 * lax.floor(0.5 * m) != m
    tail = gamma_quotient((c,), (p, q, m + 1), m * log_y) * tail_total
    return lax.exp(where(euler, gap * log_y, 0.0)) * (powers + where(odd, tail, -tail))


@jit
def _by_parameters(a: Any, b: Any, c: Any, x: Any) -> tuple[Any, Any, Any]:
    """Derivatives by ``a``, ``b`` and ``c``."""
    turned = x < -0.5
    q, z = where(turned, c - b, b), where(turned, x / (where(turned, x, 0.0) - 1), x)
    value, by_a, by_q, by_c = series_slopes((a, q), (c,), z)
    log = where(turned, lax.log1p(-where(turned, x, 0.0)), 0.0)
    by_a, by_c = by_a - log * value, where(turned, by_c + by_q, by_c)
    power = lax.exp(-a * log)
    return power * by_a, power * where(turned, -by_q, by_q), power * by_c


def _hyp2f1_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    a, b, c, x = primals
    by_parameters = functools.cache(lambda: _by_parameters(a, b, c, x))
    slopes = (
        lambda: by_parameters()[0],
        lambda: by_parameters()[1],
        lambda: by_parameters()[2],
        lambda: a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x),
    )
    return _hyp2f1(a, b, c, x), along(tangents, slopes)


_hyp2f1.defjvp(_hyp2f1_jvp, symbolic_zeros=True)
