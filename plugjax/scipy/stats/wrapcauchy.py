"""The Cauchy distribution wrapped around the circle: density ``(1 - c**2) / (2 pi (1 + c**2 - 2 c cos(x)))`` from 0 to 2 pi."""

from __future__ import annotations

import math

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.stats.operands import real

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Logarithm of the density; nan unless ``0 < c < 1``.

    Units:
        x: radians.

    Example:
        >>> from plugjax.scipy.stats import wrapcauchy
        >>> wrapcauchy.logpdf(0.0, 0.5).round(3)
        Array(-0.739, dtype=float32, weak_type=True)
    """
    x, c = real("wrapcauchy.logpdf", x, c)
    valid = (c > 0) & (c < 1)
    c = where(valid, c, 0.5)
    # 1 + c**2 - 2 c cos(x), as a sum of positive terms.
    half = lax.sin(0.5 * x)
    distance = (1 - c) * (1 - c) + 4 * c * half * half
    found = lax.log((1 - c) * (1 + c) / distance) - math.log(2 * math.pi)
    found = where((x < 0) | (x > 2 * math.pi), -np.inf, found)
    return where(valid, found, np.nan)


def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import wrapcauchy
        >>> wrapcauchy.pdf(jnp.array([0.0, 1.0]), 0.5).round(3)
        Array([0.477, 0.168], dtype=float32)
    """
    return lax.exp(logpdf(x, c))


publish(globals(), __all__)
