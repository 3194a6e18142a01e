"""Student's t distribution: density proportional to ``(1 + z**2 / df) ** -((df + 1) / 2)``."""

from __future__ import annotations

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.scipy.special import betaln
from plugjax.scipy.stats.operands import inexact

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density with ``df`` degrees of freedom.

    Example:
        >>> from plugjax.scipy.stats import t
        >>> t.logpdf(0.0, 1.0).round(3)
        Array(-1.145, dtype=float32, weak_type=True)
    """
    x, df, loc, scale = inexact("t.logpdf", x, df, loc, scale)
    z = (x - loc) / scale
    half = scalar(0.5, x)
    normalizer = half * lax.log(df) + lax.log(lax.abs(scale)) + betaln(half, half * df)
    return -(normalizer + 0.5 * (df + 1) * lax.log1p(z * z / df))


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import t
        >>> t.pdf(jnp.array([0.0, 1.0]), 2.0).round(3)
        Array([0.354, 0.192], dtype=float32)
    """
    return lax.exp(logpdf(x, df, loc, scale))


publish(globals(), __all__)
