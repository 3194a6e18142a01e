"""Integrals of ``exp(-t) / t`` and its powers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.numpy.promotion import ArrayLike, broadcast_together
from plugjax.numpy.selection import where
from plugjax.scipy.special.operands import as_arrays, floating, one_floating

__all__ = ["exp1", "expi", "expn"]

_MOST_TERMS = 500


def _eps(x: Array) -> float:
    return float(np.finfo(x.dtype).eps)


@partial(custom_jvp, nondiff_argnums=(0,))
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The integral of ``exp(-x t) / t**n`` over t from 1 to infinity, for integers ``n`` of at least 0.

    Reference:
        DLMF 8.19.8 (the series, up to ``x = 1``) and 8.19.17 (the continued fraction, contracted, above).

    Example:
        >>> from plugjax.scipy import special
        >>> special.expn(2, 0.0)
        Array(1., dtype=float32)
    """
    order, z = floating("expn", *as_arrays(n, x), any_width=False)
    order, z = broadcast_together(order, z)
    if z.dtype.itemsize < 4:
        return expn(order.astype(np.float32), z.astype(np.float32)).astype(z.dtype)
    inside = (order >= 1) & (z > 0) & (z < np.inf)
    p, at = where(inside, order, 1.0), where(inside, z, 1.0)
    found = where(at > 1, _fraction(p, lax.max(at, lax.full_like(at, 1))), _series(p, at))
    safe = where(order > 1, order - 1, 1.0)
    edge = where(z == 0, where(order > 1, 1 / safe, np.inf), where(z == np.inf, 0.0, np.nan))
    found = where(inside, found, edge)
    zeroth = where(z == 0, np.inf, lax.exp(-z) / where(z == 0, 1.0, z))
    found = where((order == 0) & (z >= 0), zeroth, found)
    return where((order < 0) | (z < 0), np.nan, found)


@expn.defjvp
def _expn_jvp(n: Any, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x,), (x_dot,) = primals, tangents
    return expn(n, x), -x_dot * expn(n - 1, x)


def _series(n: Array, x: Array) -> Array:
    small = lax.min(x, lax.full_like(x, 1))
    start = lax.lgamma(n)

    def step(carry: Any) -> Any:
        k, power, total, harmonic = carry
        # The term k = n - 1 has a logarithm in place of a division by zero.
        gap = k - (n - 1)
        at_pole = gap == 0
        term = where(at_pole, 0.0, power / where(at_pole, 1.0, gap))
        harmonic = where(k + 1 < n, harmonic + 1 / (k + 1), harmonic)
        return k + 1, -power * small / (k + 1), total - term, harmonic

    zero = lax.full_like(x, 0)
    count = 20 if x.dtype.itemsize == 4 else 30
    carry = (zero, lax.full_like(x, 1), zero, zero)
    for _ in range(count):
        carry = step(carry)
    # Harmonic numbers beyond the count of terms; there the logarithm's term is negligible.
    sign = where(n - 2 * lax.floor(n / 2) == 1, 1.0, -1.0)
    logarithm = sign * lax.exp((n - 1) * lax.log(small) - start)
    return carry[2] + logarithm * (carry[3] - np.euler_gamma - lax.log(small))


def _fraction(n: Array, x: Array) -> Array:
    """By Lentz's method."""
    eps = _eps(x)

    def step(carry: Any) -> Any:
        i, active, c, d, value = carry
        numerator, b = -i * (n - 1 + i), x + n + 2 * i
        new_d = 1 / (b + numerator * d)
        new_c = b + numerator / c
        factor = new_c * new_d
        more = active & (abs(factor - 1) > eps)
        kept = (where(active, v, w) for v, w in ((new_c, c), (new_d, d), (value * factor, value)))
        return i + 1, more, *kept

    d = 1 / (x + n)
    start = (x.dtype.type(1), x > 1, lax.full_like(x, 1e30), d, d)
    found = lax.while_loop(lambda s: s[1].any() & (s[0] < _MOST_TERMS), step, start)
    return found[4] * lax.exp(-x)


def exp1(x: ArrayLike) -> Array:
    """The integral of ``exp(-t) / t`` over t from ``x`` to infinity.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.exp1(1.0).round(3)
        Array(0.219, dtype=float32)
    """
    return expn(1, one_floating("exp1", x))


def expi(x: ArrayLike) -> Array:
    """The principal value of the integral of ``exp(t) / t`` over t from -infinity to ``x``.

    Reference:
        DLMF 6.6.2 (the series) and 6.12.2 (the asymptotic expansion, for large ``x``).

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.expi(1.0).round(3)
        Array(1.895, dtype=float32)
    """
    return _expi(one_floating("expi", x, any_width=False))


@custom_jvp
def _expi(x: Array) -> Array:
    if x.dtype.itemsize < 4:
        return _expi(x.astype(np.float32)).astype(x.dtype)
    eps = _eps(x)
    bound = 20.0 if x.dtype.itemsize == 4 else 40.0
    far = x > bound
    near, large = where((x > 0) & ~far, x, 1.0), where(far, x, bound)

    def step(carry: Any) -> Any:
        k, term, total = carry
        term = term * near / k
        return k + 1, term, total + term / k

    start = (x.dtype.type(1), lax.full_like(x, 1), lax.full_like(x, 0))
    total = lax.while_loop(lambda s: (s[1] > eps * s[2]).any() & (s[0] < _MOST_TERMS), step, start)
    series = np.euler_gamma + lax.log(near) + total[2]
    tail = lax.full_like(x, 1)
    for k in range(int(bound) - 1, 0, -1):
        tail = 1 + k / large * tail
    # Two steps: exp overflows before the result does.
    half = lax.exp(large / 2)
    positive = where(far, half * (tail / large) * half, series)
    positive = where(x == np.inf, np.inf, positive)
    return where(x > 0, positive, -exp1(-x))


_expi.defjvps(lambda x_dot, y, x: x_dot * lax.exp(x) / x)
