"""The chi-squared distribution: that of the sum of the squares of df standard normal numbers, a gamma distribution."""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.scipy.stats import gamma
from plugjax.scipy.stats.operands import inexact

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _as_gamma(who: str, x: Any, df: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any, Any]:
    x, df, loc, scale = inexact(who, x, df, loc, scale)
    return x, scalar(0.5, scale) * df, loc, scalar(2, x) * scale


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density.

    Example:
        >>> from plugjax.scipy.stats import chi2
        >>> chi2.logpdf(0.0, 2.0).round(3)
        Array(-0.693, dtype=float32, weak_type=True)
    """
    x, df, loc, scale = inexact("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(x, 0.5 * df, loc, 2 * scale)


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import chi2
        >>> chi2.pdf(jnp.array([1.0, 2.0]), 2.0).round(3)
        Array([0.303, 0.184], dtype=float32)
    """
    return lax.exp(logpdf(x, df, loc, scale))


def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import chi2
        >>> chi2.cdf(jnp.array([1.0, 2.0]), 2.0).round(3)
        Array([0.393, 0.632], dtype=float32)
    """
    return gamma.cdf(*_as_gamma("chi2.cdf", x, df, loc, scale))


def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import chi2
        >>> chi2.logcdf(jnp.array([1.0, 2.0]), 2.0).round(3)
        Array([-0.933, -0.459], dtype=float32)
    """
    return lax.log(cdf(x, df, loc, scale))


def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import chi2
        >>> chi2.sf(jnp.array([1.0, 2.0]), 2.0).round(3)
        Array([0.607, 0.368], dtype=float32)
    """
    return gamma.sf(*_as_gamma("chi2.sf", x, df, loc, scale))


def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import chi2
        >>> chi2.logsf(jnp.array([1.0, 2.0]), 2.0).round(3)
        Array([-0.5, -1. ], dtype=float32)
    """
    return lax.log(sf(x, df, loc, scale))


publish(globals(), __all__)
