"""The left-skewed Gumbel distribution, of smallest values: the mirror image of :mod:`plugjax.scipy.stats.gumbel_r`."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.stats import gumbel_r
from plugjax.scipy.stats.operands import mirrored, real

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density; nan where ``scale`` is not positive, like the other functions.

    Example:
        >>> from plugjax.scipy.stats import gumbel_l
        >>> gumbel_l.logpdf(0.0)
        Array(-1., dtype=float32, weak_type=True)
    """
    return gumbel_r.logpdf(*mirrored("gumbel_l.logpdf", x, loc, scale))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_l
        >>> gumbel_l.pdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.368, 0.179], dtype=float32)
    """
    return lax.exp(logpdf(x, loc, scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_l
        >>> gumbel_l.logcdf(jnp.array([0.0, 1.0])).round(3)
        Array([-0.459, -0.068], dtype=float32)
    """
    return gumbel_r.logsf(*mirrored("gumbel_l.logcdf", x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_l
        >>> gumbel_l.cdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.632, 0.934], dtype=float32)
    """
    return -lax.expm1(gumbel_r.logcdf(*mirrored("gumbel_l.cdf", x, loc, scale)))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_l
        >>> gumbel_l.sf(jnp.array([0.0, 1.0])).round(3)
        Array([0.368, 0.066], dtype=float32)
    """
    return gumbel_r.cdf(*mirrored("gumbel_l.sf", x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_l
        >>> gumbel_l.logsf(jnp.array([0.0, 1.0])).round(3)
        Array([-1.   , -2.718], dtype=float32)
    """
    return gumbel_r.logcdf(*mirrored("gumbel_l.logsf", x, loc, scale))


def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantiles, the inverse of :func:`cdf`; nan unless ``0 < p < 1``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gumbel_l
        >>> gumbel_l.ppf(jnp.array([0.25, 0.5])).round(3)
        Array([-1.246, -0.367], dtype=float32)
    """
    p, loc, scale = real("gumbel_l.ppf", p, loc, scale)
    return where((p > 0) & (p < 1), loc + scale * lax.log(-lax.log1p(-p)), np.nan)


publish(globals(), __all__)
