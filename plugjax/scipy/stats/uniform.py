"""The uniform distribution: density 1 between 0 and 1."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.stats.operands import inexact, no_probability, real

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density.

    Example:
        >>> from plugjax.scipy.stats import uniform
        >>> uniform.logpdf(0.25, 0.0, 2.0).round(3)
        Array(-0.693, dtype=float32, weak_type=True)
    """
    x, loc, scale = real("uniform.logpdf", x, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    return where(x != x, np.nan, where(outside, -np.inf, -lax.log(scale)))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import uniform
        >>> uniform.pdf(jnp.array([0.5, 2.0])).round(3)
        Array([1., 0.], dtype=float32)
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import uniform
        >>> uniform.cdf(jnp.array([0.5, 2.0])).round(3)
        Array([0.5, 1. ], dtype=float32)
    """
    x, loc, scale = real("uniform.cdf", x, loc, scale)
    z, one = lax.div(lax.sub(x, loc), scale), x.dtype.type(1)
    return where(x < loc, 0 * one, where(x > loc + scale, one, z))


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantiles, the inverse of :func:`cdf`; nan outside of [0, 1].

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import uniform
        >>> uniform.ppf(jnp.array([0.25, 0.5])).round(3)
        Array([0.25, 0.5 ], dtype=float32)
    """
    q, loc, scale = inexact("uniform.ppf", q, loc, scale)
    return where(no_probability(q), np.nan, loc + scale * q)


publish(globals(), __all__)
