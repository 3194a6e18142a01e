"""The truncated normal distribution; bounds are in units of ``scale`` from ``loc``.

Everything follows from the logarithm of the mass of the standard normal distribution between two points, taken in the
lower tail, where neither it nor the distribution function underflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.nn.activations import log1mexp
from plugjax.numpy.promotion import ArrayLike, broadcast_together
from plugjax.numpy.selection import where
from plugjax.scipy.special import log_ndtr, ndtr
from plugjax.scipy.stats import norm
from plugjax.scipy.stats.operands import inexact

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _log_mass(a: Any, b: Any) -> Any:
    """``log(ndtr(b) - ndtr(a))`` for ``a <= b``."""
    a, b = broadcast_together(a, b)
    central = (a <= 0) & (b > 0)
    mirrored = a > 0
    lower, upper = where(mirrored, -b, a), where(mirrored, -a, b)
    high = log_ndtr(where(central, -1.0, upper))
    low = log_ndtr(where(central, -2.0, lower))
    middle = lax.log1p(-ndtr(where(central, a, -1.0)) - ndtr(where(central, -b, -1.0)))
    return where(central, middle, high + log1mexp(high - low))


def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Logarithm of the density between ``loc + scale * a`` and ``loc + scale * b``; nan unless ``a < b``.

    Example:
        >>> from plugjax.scipy.stats import truncnorm
        >>> truncnorm.logpdf(0.0, -1.0, 1.0).round(3)
        Array(-0.537, dtype=float32)
    """
    x, a, b, loc, scale = inexact("truncnorm.logpdf", x, a, b, loc, scale, any_width=False)
    z = (x - loc) / scale
    found = norm.logpdf(x, loc, scale) - _log_mass(a, b)
    return where(a >= b, np.nan, where((z < a) | (z > b), -np.inf, found))


def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import truncnorm
        >>> truncnorm.pdf(jnp.array([0.0, 0.5]), -1.0, 1.0).round(3)
        Array([0.584, 0.516], dtype=float32)
    """
    return lax.exp(logpdf(x, a, b, loc, scale))


def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Logarithm of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import truncnorm
        >>> truncnorm.logcdf(jnp.array([0.0, 0.5]), -1.0, 1.0).round(3)
        Array([-0.693, -0.248], dtype=float32)
    """
    x, a, b, loc, scale = inexact("truncnorm.logcdf", x, a, b, loc, scale, any_width=False)
    x, a, b = broadcast_together(x, a, b)
    z = (x - loc) / scale
    below, above = z <= a, z >= b
    z = where(below | above, 0.5 * (a + b), z)
    whole = _log_mass(a, b)
    found = _log_mass(a, z) - whole
    # Near 1 the complement is more accurate.
    found = where(found > -0.1, log1mexp(whole - _log_mass(z, b)), found)
    found = where(above, 0.0, where(below, -np.inf, found))
    return where(a >= b, np.nan, found)


def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import truncnorm
        >>> truncnorm.cdf(jnp.array([0.0, 0.5]), -1.0, 1.0).round(3)
        Array([0.5 , 0.78], dtype=float32)
    """
    return lax.exp(logcdf(x, a, b, loc, scale))


def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Logarithm of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import truncnorm
        >>> truncnorm.logsf(jnp.array([0.0, 0.5]), -1.0, 1.0).round(3)
        Array([-0.693, -1.516], dtype=float32)
    """
    x, a, b, loc, scale = inexact("truncnorm.logsf", x, a, b, loc, scale, any_width=False)
    return logcdf(-x, -b, -a, -loc, scale)


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import truncnorm
        >>> truncnorm.sf(jnp.array([0.0, 0.5]), -1.0, 1.0).round(3)
        Array([0.5 , 0.22], dtype=float32)
    """
    return lax.exp(logsf(x, a, b, loc, scale))


publish(globals(), __all__)
