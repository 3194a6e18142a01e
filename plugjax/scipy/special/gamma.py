"""The gamma function and its relatives."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.extend.dtypes import is_integer
from plugjax.extend.transforms import jvp
from plugjax.numpy.creation import array
from plugjax.numpy.promotion import ArrayLike, as_operand, promote_inexact
from plugjax.numpy.selection import where
from plugjax.scipy.special.log_gamma import complex_loggamma
from plugjax.scipy.special.operands import floating, inexact, one_floating, one_inexact, strong

__all__ = [
    "bernoulli", "beta", "betainc", "betaln", "comb", "digamma", "factorial", "gamma", "gammainc", "gammaincc", "gammaln",
    "gammasgn", "multigammaln", "poch", "polygamma", "zeta",
]  # fmt: skip


def gammaln(x: ArrayLike) -> Array:
    """Logarithm of ``abs(gamma(x))``.

    Example:
        >>> from plugjax.scipy import special
        >>> special.gammaln(4)
        Array(1.7917595, dtype=float32, weak_type=True)
    """
    return lax.lgamma(one_inexact("gammaln", x))


def gammasgn(x: ArrayLike) -> Array:
    """Sign of the gamma function: nan at the negative integers; at a zero, the sign of the zero.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.gammasgn(jnp.array([0.5, -0.5]))
        Array([ 1., -1.], dtype=float32)
    """
    x = strong(one_floating("gammasgn", x, any_width=False))
    below = lax.floor(x)
    odd = below - 2 * lax.floor(below / 2) == 1
    found = where((x < 0) & odd, -1.0, lax.full_like(x, 1))
    found = where(x == 0, lax.sign(1 / x), found)
    return where(((x < 0) & (x == below)) | (x != x), np.nan, found)


def gamma(x: ArrayLike) -> Array:
    """The gamma function, of real or complex numbers.

    Example:
        >>> from plugjax.scipy import special
        >>> special.gamma(0.5)
        Array(1.7724538, dtype=float32)
    """
    x = one_inexact("gamma", x)
    if x.dtype.kind == "c":
        return lax.exp(complex_loggamma(strong(x)))
    return gammasgn(x) * lax.exp(lax.lgamma(x))


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """``gamma(n + 1)``, and 0 for negative ``n``.

    Raises:
        NotImplementedError: ``exact`` is set, as in JAX.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.factorial(jnp.array([3.0])).round(3)
        Array([6.], dtype=float32)
    """
    if exact:
        raise NotImplementedError("factorial with exact=True: arrays have no big integers")
    n = one_inexact("factorial", n)
    return where(n < 0, 0.0, lax.exp(lax.lgamma(n + 1)))


def _stirling_rest(z: Array) -> Array:
    """Log Gamma(z) minus ``(z - 1/2) log z - z + log(2 pi) / 2``, for z of 10 or more."""
    square = 1 / (z * z)
    tail = 1 / 1260 + square * (-1 / 1680 + square / 1188)
    return (1 / 12 + square * (-1 / 360 + square * tail)) / z


def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Logarithm of ``abs(beta(a, b))``.

    Reference:
        DLMF 5.11.1, by which the difference of two large logarithms is taken term by term.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.betaln(2.0, 2.0).round(3)
        Array(-1.792, dtype=float32, weak_type=True)
    """
    a, b = inexact("betaln", a, b)
    less, more = lax.min(a, b), lax.max(a, b)
    large = (more >= 10) & ((less > 0) | (less + more >= 10))
    plain = lax.lgamma(less) + (lax.lgamma(more) - lax.lgamma(less + more))
    small, big = where(large, less, 1.0), where(large, more, 10.0)
    total = small + big
    difference = (0.5 - big) * lax.log1p(small / big) - small * (lax.log(total) - 1)
    difference = difference + _stirling_rest(big) - _stirling_rest(total)
    return where(large, lax.lgamma(small) + difference, plain)


def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function, ``gamma(a) gamma(b) / gamma(a + b)``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.beta(2.0, 3.0).round(3)
        Array(0.083, dtype=float32)
    """
    a, b = floating("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Regularized incomplete beta function.

    Example:
        >>> from plugjax.scipy import special
        >>> special.betainc(1.0, 2.0, 0.5)
        Array(0.75, dtype=float32, weak_type=True)
    """
    return lax.betainc(*floating("betainc", a, b, x))


def digamma(x: ArrayLike) -> Array:
    """Derivative of :func:`gammaln`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.digamma(1.0).round(3)
        Array(-0.577, dtype=float32, weak_type=True)
    """
    return lax.digamma(one_inexact("digamma", x))


def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularized lower incomplete gamma function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.gammainc(1.0, 1.0).round(3)
        Array(0.632, dtype=float32, weak_type=True)
    """
    return lax.igamma(*inexact("gammainc", a, x))


def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularized upper incomplete gamma function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.gammaincc(1.0, 1.0).round(3)
        Array(0.368, dtype=float32, weak_type=True)
    """
    return lax.igammac(*inexact("gammaincc", a, x))


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """Number of ways to choose ``k`` of ``N`` things; 0 where there are none.

    Args:
        N: number of things.
        k: number of chosen things.
        repetition: whether one may be chosen several times.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.comb(5, 2).round(3)
        Array(10., dtype=float32, weak_type=True)
    """
    total, chosen = inexact("comb", N, k)
    if repetition:
        several = comb(total + chosen - 1, chosen)
        return where((chosen == 0) & (total >= 0), 1.0, several)
    possible = (chosen <= total) & (total >= 0) & (chosen >= 0)
    n, m = where(possible, total, 0.0), where(possible, chosen, 0.0)
    # 1 / ((n + 1) B(n - m + 1, m + 1)), without a difference of large numbers.
    ways = lax.exp(-lax.log1p(n) - betaln(n - m + 1, m + 1))
    return where(possible, ways, 0.0)


def multigammaln(a: ArrayLike, d: int) -> Array:
    """Logarithm of the gamma function of dimension ``d``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.multigammaln(jnp.array([3.0]), 1).round(3)
        Array([0.693], dtype=float32)
    """
    dimension = int(d)
    a, _ = inexact("multigammaln", a, dimension)
    a = strong(a)
    found = lax.full_like(a, dimension * (dimension - 1) / 4 * math.log(math.pi))
    for i in range(dimension):
        found = found + lax.lgamma(a - i / 2)
    return found


@custom_jvp
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol, ``gamma(z + m) / gamma(z)``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.poch(1.0, 3.0).round(3)
        Array(6., dtype=float32)
    """
    z, m = floating("poch", z, m, any_width=False)
    return where(m == 0, 1.0, gamma(z + m) / gamma(z))


poch.defjvps(
    lambda z_dot, y, z, m: (digamma(z + m) - digamma(z)) * y * z_dot,
    lambda m_dot, y, z, m: digamma(z + m) * y * m_dot,
)


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Derivative of :func:`digamma` of order ``n``, an integer.

    Raises:
        ValueError: ``n`` is not an integer, or ``x`` is complex.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.polygamma(1, 1.0).round(3)
        Array(1.645, dtype=float32, weak_type=True)
    """
    order = as_operand("polygamma", n)
    if not is_integer(order.dtype):
        raise ValueError(f"polygamma: n needs an integer dtype, got {order.dtype.name}.")
    return lax.polygamma(*floating("polygamma", order, x))


@custom_jvp
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz's zeta function, the sum of ``(n + q) ** -x`` over n = 0, 1, 2, ...

    Raises:
        NotImplementedError: ``q`` is missing, as in JAX.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.zeta(2.0, 1.0).round(3)
        Array(1.645, dtype=float32, weak_type=True)
    """
    if q is None:
        raise NotImplementedError(
            "zeta needs q: Riemann's function is not implemented by itself. It is Hurwitz's with q=1."
        )
    return lax.zeta(*promote_inexact("zeta", x, q))


# B_2j / (2j)!
_EULER_MACLAURIN = tuple(
    b / math.factorial(2 * j)
    for j, b in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510), start=1
    )
)


def _zeta_by_summation(x: Any, q: Any) -> Array:
    """DLMF 25.11.28: twelve terms, and what the others come to; to be differentiated."""
    s, a = floating("zeta", x, q, any_width=False)
    count = 12
    found = a ** (-s)
    for n in range(1, count):
        found = found + (a + n) ** (-s)
    end = a + count
    power = end ** (-s)
    found = found + power * end / (s - 1) + power / 2
    rising = power * s / end
    for j, coefficient in enumerate(_EULER_MACLAURIN, start=1):
        found = found + coefficient * rising
        rising = rising * (s + (2 * j - 1)) * (s + 2 * j) / (end * end)
    return found


@zeta.defjvp
def _zeta_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    _, y_dot = jvp(_zeta_by_summation, primals, tangents)
    return zeta(*primals), y_dot


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers ``B_0 ... B_n``, with ``B_1 = -1/2``.

    Raises:
        ValueError: ``n`` is negative.

    Example:
        >>> from plugjax.scipy import special
        >>> special.bernoulli(2)
        Array([ 1.        , -0.5       ,  0.16666667], dtype=float32)
    """
    last = operator.index(n)
    if last < 0:
        raise ValueError(f"bernoulli: n is not negative, got {last}.")
    numbers = [1.0, -0.5]
    for m in range(2, last + 1):
        # DLMF 25.6.2: they follow from zeta(m), whose sum is short for m > 2.
        total = sum(k**-m for k in range(1, 60)) if m > 2 else math.pi**2 / 6
        sign = 1 if m % 4 == 2 else -1
        log_size = math.log(2 * total) + math.lgamma(m + 1) - m * math.log(2 * math.pi)
        size = math.exp(log_size) if log_size < 700 else math.inf
        numbers.append(0.0 if m % 2 else sign * size)
    return array(np.array(numbers[: last + 1]).astype(np.result_type(array(0.0).dtype)))
