"""The right-skewed Gumbel distribution, of largest values: distribution function ``exp(-exp(-z))``."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.nn.activations import log1mexp
from plugjax.numpy.promotion import ArrayLike, limits, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.stats.operands import real, standardized

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density; nan where ``scale`` is not positive, like the other functions.

    Example:
        >>> from plugjax.scipy.stats import gumbel_r
        >>> gumbel_r.logpdf(0.0)
        Array(-1., dtype=float32, weak_type=True)
    """
    z, _, scale = standardized("gumbel_r.logpdf", x, loc, scale)
    # A finite z, so that at -inf only the exponential is infinite.
    least = float(limits(z.dtype).min)
    z = where(z < least, least, z)
    return where(lax.gt(scale, scalar(0, scale)), -(z + lax.exp(-z)) - lax.log(scale), np.nan)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_r
        >>> gumbel_r.pdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.368, 0.255], dtype=float32)
    """
    return lax.exp(logpdf(x, loc, scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_r
        >>> gumbel_r.logcdf(jnp.array([0.0, 1.0])).round(3)
        Array([-1.   , -0.368], dtype=float32)
    """
    z, _, scale = standardized("gumbel_r.logcdf", x, loc, scale)
    return where(lax.gt(scale, scalar(0, scale)), -lax.exp(-z), np.nan)


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_r
        >>> gumbel_r.cdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.368, 0.692], dtype=float32)
    """
    return lax.exp(logcdf(x, loc, scale))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_r
        >>> gumbel_r.sf(jnp.array([0.0, 1.0])).round(3)
        Array([0.632, 0.308], dtype=float32)
    """
    x, loc, scale = real("gumbel_r.sf", x, loc, scale)
    return scalar(-1, x) * lax.expm1(logcdf(x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_r
        >>> gumbel_r.logsf(jnp.array([0.0, 1.0])).round(3)
        Array([-0.459, -1.178], dtype=float32)
    """
    return log1mexp(-logcdf(x, loc, scale))


def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantiles, the inverse of :func:`cdf`; nan unless ``0 < p < 1``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_r
        >>> gumbel_r.ppf(jnp.array([0.25, 0.5])).round(3)
        Array([-0.327,  0.367], dtype=float32)
    """
    p, loc, scale = real("gumbel_r.ppf", p, loc, scale)
    return where((p > 0) & (p < 1), loc - scale * lax.log(-lax.log(p)), np.nan)


publish(globals(), __all__)
