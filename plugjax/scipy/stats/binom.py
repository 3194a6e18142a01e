"""Successes in n independent trials: ``C(n, y) * p**y * (1 - p)**(n - y)``."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.special import betaln, xlog1py, xlogy
from plugjax.scipy.stats.operands import inexact

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of ``k``.

    Example:
        >>> from plugjax.scipy.stats import binom
        >>> binom.logpmf(1.0, 2.0, 0.5).round(6).round(3)
        Array(-0.693, dtype=float32, weak_type=True)
    """
    k, n, p, loc = inexact("binom.logpmf", k, n, p, loc)
    outside = (k < loc) | (k >= loc + n + 1)
    y = where(outside, 0.0, k - loc)
    # C(n, y) = 1 / ((n + 1) B(n - y + 1, y + 1)), without a difference of large numbers.
    ways = -(lax.log1p(n) + betaln(n - y + 1, y + 1))
    return where(outside, -np.inf, ways + xlogy(y, p) + xlog1py(n - y, -p))


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of ``k``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import binom
        >>> binom.pmf(jnp.array([0, 1]), 2, 0.5).round(3)
        Array([0.25, 0.5 ], dtype=float32)
    """
    return lax.exp(logpmf(k, n, p, loc))


publish(globals(), __all__)
