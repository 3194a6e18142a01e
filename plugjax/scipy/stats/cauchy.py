"""The Cauchy distribution: density ``1 / (pi * (1 + z**2))``."""

from __future__ import annotations

import math

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, Operand, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.stats.operands import inexact, mirrored, standardized

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density.

    Example:
        >>> from plugjax.scipy.stats import cauchy
        >>> cauchy.logpdf(0.0).round(3)
        Array(-1.145, dtype=float32, weak_type=True)
    """
    z, x, scale = standardized("cauchy.logpdf", x, loc, scale)
    return -(lax.log(scalar(math.pi, x) * scale) + lax.log1p(z * z))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import cauchy
        >>> cauchy.pdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.318, 0.159], dtype=float32)
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function, accurate in the lower tail.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import cauchy
        >>> cauchy.cdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.5 , 0.75], dtype=float32)
    """
    z, x, _ = standardized("cauchy.cdf", x, loc, scale)
    # The angle of the half-line below z; unlike 1/2 + atan(z) / pi it does not cancel.
    return lax.atan2(lax.full_like(z, 1), -z) / scalar(math.pi, x)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import cauchy
        >>> cauchy.logcdf(jnp.array([0.0, 1.0])).round(3)
        Array([-0.693, -0.288], dtype=float32)
    """
    return lax.log(cdf(x, loc, scale))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function, accurate in the upper tail.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import cauchy
        >>> cauchy.sf(jnp.array([0.0, 1.0])).round(3)
        Array([0.5 , 0.25], dtype=float32)
    """
    return cdf(*mirrored("cauchy.sf", x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import cauchy
        >>> cauchy.logsf(jnp.array([0.0, 1.0])).round(3)
        Array([-0.693, -1.386], dtype=float32)
    """
    return logcdf(*mirrored("cauchy.logsf", x, loc, scale))


def _standard_quantile(q: Operand) -> Array:
    """``tan(pi * (q - 1/2))``; in the tails, the cotangent of a small angle."""
    central, lower = lax.abs(q - 0.5) < 0.25, q < 0.5
    tangent = lax.tan(math.pi * where(central, q - 0.5, where(lower, q, 1 - q)))
    cotangent = 1 / where(central, scalar(1, q), tangent)
    return where(central, tangent, where(lower, -cotangent, cotangent))


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantiles, the inverse of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import cauchy
        >>> cauchy.ppf(jnp.array([0.25, 0.5])).round(3)
        Array([-1.,  0.], dtype=float32)
    """
    q, loc, scale = inexact("cauchy.ppf", q, loc, scale)
    return _standard_quantile(q) * scale + loc


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import cauchy
        >>> cauchy.isf(jnp.array([0.25, 0.5])).round(3)
        Array([1., 0.], dtype=float32)
    """
    q, loc, scale = inexact("cauchy.isf", q, loc, scale)
    return loc - _standard_quantile(q) * scale


publish(globals(), __all__)
