"""Successes in n trials whose probability has a beta distribution: ``C(n, y) * B(y + a, n - y + b) / B(a, b)``."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.special import betaln
from plugjax.scipy.stats.operands import inexact

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of ``k``; nan where ``n`` is negative, or ``a`` or ``b`` not positive.

    Example:
        >>> from plugjax.scipy.stats import betabinom
        >>> betabinom.logpmf(2.0, 4.0, 1.0, 1.0).round(6).round(3)
        Array(-1.609, dtype=float32, weak_type=True)
    """
    k, n, a, b, loc = inexact("betabinom.logpmf", k, n, a, b, loc, any_width=False)
    y = lax.floor(k) - loc
    one = scalar(1, y)
    outside = (y < 0) | (y > n)
    y = where(outside, 0.0, y)
    # C(n, y) = 1 / ((n + 1) B(n - y + 1, y + 1)), without a difference of large numbers.
    ways = -(lax.log1p(n) + betaln(n - y + one, y + one))
    found = where(outside, -np.inf, ways + betaln(y + a, n - y + b) - betaln(a, b))
    return where((n < 0) | (a <= 0) | (b <= 0), np.nan, found)


def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of ``k``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import betabinom
        >>> betabinom.pmf(jnp.array([0, 1]), 2, 1.0, 1.0).round(3)
        Array([0.333, 0.333], dtype=float32)
    """
    return lax.exp(logpmf(k, n, a, b, loc))


publish(globals(), __all__)
