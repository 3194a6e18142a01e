"""The generalized normal distribution: density proportional to ``exp(-abs(x)**beta)``."""

from __future__ import annotations

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.stats.operands import inexact

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Logarithm of the density.

    Example:
        >>> from plugjax.scipy.stats import gennorm
        >>> gennorm.logpdf(1.0, 1.0).round(3)
        Array(-1.693, dtype=float32, weak_type=True)
    """
    x, beta = inexact("gennorm.logpdf", x, beta)
    return lax.log(0.5 * beta) - lax.lgamma(1 / beta) - lax.pow(lax.abs(x), beta)


def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gennorm
        >>> gennorm.pdf(jnp.array([0.0, 1.0]), 2.0).round(3)
        Array([0.564, 0.208], dtype=float32)
    """
    return lax.exp(logpdf(x, beta))


def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gennorm
        >>> gennorm.cdf(jnp.array([0.0, 1.0]), 2.0).round(3)
        Array([0.5  , 0.921], dtype=float32)
    """
    x, beta = inexact("gennorm.cdf", x, beta)
    # In either tail, abs(x)**beta has a gamma distribution.
    tail = 0.5 * lax.igammac(1 / beta, lax.pow(lax.abs(x), beta))
    return where(x > 0, 1 - tail, tail)


publish(globals(), __all__)
