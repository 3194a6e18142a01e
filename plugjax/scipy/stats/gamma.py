"""The gamma distribution: density ``z**(a-1) * exp(-z) / Gamma(a)`` above 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.special import gammainc, gammaincc, gammaln, xlogy
from plugjax.scipy.stats.operands import inexact

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density.

    Example:
        >>> from plugjax.scipy.stats import gamma
        >>> gamma.logpdf(2.0, 1.0)
        Array(-2., dtype=float32, weak_type=True)
    """
    x, a, loc, scale = inexact("gamma.logpdf", x, a, loc, scale)
    below = x < loc
    one = scalar(1, x)
    z = where(below, one, (x - loc) / scale)
    return where(below, -np.inf, xlogy(a - one, z) - z - gammaln(a) - lax.log(scale))


def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gamma
        >>> gamma.pdf(jnp.array([0.5, 1.0]), 2.0).round(3)
        Array([0.303, 0.368], dtype=float32)
    """
    return lax.exp(logpdf(x, a, loc, scale))


def _clipped(x: Any, loc: Any, scale: Any) -> Any:
    z = lax.div(lax.sub(x, loc), scale)
    return where(z < 0, 0.0, z)


def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gamma
        >>> gamma.cdf(jnp.array([0.5, 1.0]), 2.0).round(3)
        Array([0.09 , 0.264], dtype=float32)
    """
    x, a, loc, scale = inexact("gamma.cdf", x, a, loc, scale)
    return gammainc(a, lax.max(_clipped(x, loc, scale), scalar(0, x)))


def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gamma
        >>> gamma.logcdf(jnp.array([0.5, 1.0]), 2.0).round(3)
        Array([-2.406, -1.331], dtype=float32)
    """
    return lax.log(cdf(x, a, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gamma
        >>> gamma.sf(jnp.array([0.5, 1.0]), 2.0).round(3)
        Array([0.91 , 0.736], dtype=float32)
    """
    x, a, loc, scale = inexact("gamma.sf", x, a, loc, scale)
    return gammaincc(a, _clipped(x, loc, scale))


def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gamma
        >>> gamma.logsf(jnp.array([0.5, 1.0]), 2.0).round(3)
        Array([-0.095, -0.307], dtype=float32)
    """
    return lax.log(sf(x, a, loc, scale))


publish(globals(), __all__)
