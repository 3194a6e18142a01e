"""The normal distribution: density ``exp(-z**2 / 2) / sqrt(2 pi)``."""

from __future__ import annotations

import math

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.creation import asarray
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.scipy.special import log_ndtr, ndtr, ndtri
from plugjax.scipy.stats.operands import mirrored, standardized

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_LOG_ROOT_2PI = math.log(2 * math.pi) / 2


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import norm
        >>> norm.logpdf(jnp.array([0.0, 2.0]), loc=1.0).round(3)
        Array([-1.419, -1.419], dtype=float32)
    """
    z, x, scale = standardized("norm.logpdf", x, loc, scale)
    return -(scalar(0.5, x) * z * z + (lax.log(lax.abs(scale)) + _LOG_ROOT_2PI))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import norm
        >>> norm.pdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.399, 0.242], dtype=float32)
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function, the probability of at most ``x``.

    Raises:
        TypeError: neither float32 nor float64.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import norm
        >>> norm.cdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.5  , 0.841], dtype=float32)
    """
    z, _, _ = standardized("norm.cdf", x, loc, scale)
    return ndtr(z)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`cdf`, also where that underflows.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import norm
        >>> norm.logcdf(jnp.array([0.0, 1.0])).round(3)
        Array([-0.693, -0.173], dtype=float32)
    """
    z, _, _ = standardized("norm.logcdf", x, loc, scale)
    return log_ndtr(z)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function, the probability of more than ``x``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import norm
        >>> norm.sf(jnp.array([0.0, 1.0])).round(3)
        Array([0.5  , 0.159], dtype=float32)
    """
    return cdf(*mirrored("norm.sf", x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`sf`, also where that underflows.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import norm
        >>> norm.logsf(jnp.array([0.0, 1.0])).round(3)
        Array([-0.693, -1.841], dtype=float32)
    """
    return logcdf(*mirrored("norm.logsf", x, loc, scale))


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantiles, the inverse of :func:`cdf`.

    Raises:
        TypeError: ``q`` is neither float32 nor float64.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import norm
        >>> norm.ppf(jnp.array([0.25, 0.5])).round(3)
        Array([-0.674,  0.   ], dtype=float32)
    """
    return asarray(ndtri(q) * scale + loc, float)


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of :func:`sf`.

    Raises:
        TypeError: ``q`` is neither float32 nor float64.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import norm
        >>> norm.isf(jnp.array([0.25, 0.5])).round(3)
        Array([0.674, 0.   ], dtype=float32)
    """
    return asarray(loc - ndtri(q) * scale, float)


publish(globals(), __all__)
