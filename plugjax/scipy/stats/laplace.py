"""The Laplace distribution: density ``exp(-abs(z)) / 2``."""

from __future__ import annotations

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.stats.operands import real, standardized

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density.

    Example:
        >>> from plugjax.scipy.stats import laplace
        >>> laplace.logpdf(1.0).round(3)
        Array(-1.693, dtype=float32, weak_type=True)
    """
    x, loc, scale = real("laplace.logpdf", x, loc, scale)
    return -(lax.abs(x - loc) / scale + lax.log(scalar(2, x) * scale))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import laplace
        >>> laplace.pdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.5  , 0.184], dtype=float32)
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import laplace
        >>> laplace.cdf(jnp.array([0.0, 1.0])).round(3)
        Array([0.5  , 0.816], dtype=float32)
    """
    z, x, _ = standardized("laplace.cdf", x, loc, scale)
    left = lax.le(z, scalar(0, z))
    tail = scalar(0.5, x) * lax.exp(where(left, z, -z))
    return where(left, tail, 1 - tail)


publish(globals(), __all__)
