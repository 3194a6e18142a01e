"""The logistic distribution: distribution function ``1 / (1 + exp(-z))``."""

from __future__ import annotations

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.exponential import logaddexp
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.scipy.special import expit, logit
from plugjax.scipy.stats.operands import inexact, standardized

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density.

    Example:
        >>> from plugjax.scipy.stats import logistic
        >>> logistic.logpdf(0.0).round(3)
        Array(-1.386, dtype=float32, weak_type=True)
    """
    z, _, scale = standardized("logistic.logpdf", x, loc, scale)
    half = scalar(0.5, z) * z
    return -2 * logaddexp(half, -half) - lax.log(scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import logistic
        >>> logistic.pdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.25 , 0.197], dtype=float32)
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import logistic
        >>> logistic.cdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.5  , 0.731], dtype=float32)
    """
    z, _, _ = standardized("logistic.cdf", x, loc, scale)
    return expit(z)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import logistic
        >>> logistic.sf(jnp.array([0.0, 1.0])).round(3)
        Array([0.5  , 0.269], dtype=float32)
    """
    z, _, _ = standardized("logistic.sf", x, loc, scale)
    return expit(-z)


def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantiles, the inverse of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import logistic
        >>> logistic.ppf(jnp.array([0.25, 0.5])).round(3)
        Array([-1.099,  0.   ], dtype=float32)
    """
    q, loc, scale = inexact("logistic.ppf", x, loc, scale)
    return logit(q) * scale + loc


def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import logistic
        >>> logistic.isf(jnp.array([0.25, 0.5])).round(3)
        Array([1.099, 0.   ], dtype=float32)
    """
    q, loc, scale = inexact("logistic.isf", x, loc, scale)
    return loc - logit(q) * scale


publish(globals(), __all__)
