"""The exponential distribution: density ``exp(-z)`` above 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.nn.activations import log1mexp
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.stats.operands import inexact, no_probability, real

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density.

    Example:
        >>> from plugjax.scipy.stats import expon
        >>> expon.logpdf(2.0)
        Array(-2., dtype=float32, weak_type=True)
    """
    x, loc, scale = real("expon.logpdf", x, loc, scale)
    return where(x < loc, -np.inf, -((x - loc) / scale + lax.log(scale)))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import expon
        >>> expon.pdf(jnp.array([0.5, 1.0])).round(3)
        Array([0.607, 0.368], dtype=float32)
    """
    return lax.exp(logpdf(x, loc, scale))


def _hazard(who: str, x: Any, loc: Any, scale: Any) -> Any:
    """The cumulative hazard: minus the logarithm of the survival function."""
    x, loc, scale = real(who, x, loc, scale)
    return where(x < loc, 0.0, (x - loc) / scale)


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import expon
        >>> expon.cdf(jnp.array([0.5, 1.0])).round(3)
        Array([0.393, 0.632], dtype=float32)
    """
    return -lax.expm1(-_hazard("expon.cdf", x, loc, scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import expon
        >>> expon.logcdf(jnp.array([0.5, 1.0])).round(3)
        Array([-0.933, -0.459], dtype=float32)
    """
    return log1mexp(_hazard("expon.logcdf", x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import expon
        >>> expon.logsf(jnp.array([0.5, 1.0])).round(3)
        Array([-0.5, -1. ], dtype=float32)
    """
    return -_hazard("expon.logsf", x, loc, scale)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import expon
        >>> expon.sf(jnp.array([0.5, 1.0])).round(3)
        Array([0.607, 0.368], dtype=float32)
    """
    return lax.exp(logsf(x, loc, scale))


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantiles, the inverse of :func:`cdf`; nan outside of [0, 1].

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import expon
        >>> expon.ppf(jnp.array([0.25, 0.5])).round(3)
        Array([0.288, 0.693], dtype=float32)
    """
    q, loc, scale = inexact("expon.ppf", q, loc, scale)
    return where(no_probability(q), np.nan, loc - scale * lax.log1p(-q))


publish(globals(), __all__)
