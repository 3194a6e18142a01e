"""Failures before the n-th success of independent trials: ``C(y + n - 1, y) * p**n * (1 - p)**y``."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.special import betaln, xlog1py, xlogy
from plugjax.scipy.stats.operands import inexact

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of ``k``.

    Example:
        >>> from plugjax.scipy.stats import nbinom
        >>> nbinom.logpmf(1.0, 1.0, 0.5).round(6).round(3)
        Array(-1.386, dtype=float32, weak_type=True)
    """
    k, n, p, loc = inexact("nbinom.logpmf", k, n, p, loc)
    below = k < loc
    y = where(below, 0.0, k - loc)
    # C(y + n - 1, y) = 1 / ((y + n) B(n, y + 1)), without a difference of large numbers.
    ways = -(lax.log(y + n) + betaln(n, y + scalar(1, k)))
    return where(below, -np.inf, ways + xlogy(n, p) + xlog1py(y, -p))


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of ``k``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import nbinom
        >>> nbinom.pmf(jnp.array([0, 1]), 1, 0.5).round(3)
        Array([0.5 , 0.25], dtype=float32)
    """
    return lax.exp(logpmf(k, n, p, loc))


publish(globals(), __all__)
