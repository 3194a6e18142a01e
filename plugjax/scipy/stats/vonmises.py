"""The von Mises distribution of angles: density ``exp(kappa * cos(x)) / (2 pi I_0(kappa))``."""

from __future__ import annotations

import math

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.stats.operands import inexact

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Logarithm of the density; nan where ``kappa`` is not positive.

    Units:
        x: radians.

    Example:
        >>> from plugjax.scipy.stats import vonmises
        >>> vonmises.logpdf(0.0, 1.0).round(3)
        Array(-1.074, dtype=float32, weak_type=True)
    """
    x, kappa = inexact("vonmises.logpdf", x, kappa)
    # cos(x) - 1 without cancellation: kappa may be large.
    half = lax.sin(0.5 * x)
    found = -2 * kappa * half * half - lax.log(2 * math.pi * lax.bessel_i0e(kappa))
    return where(kappa > 0, found, np.nan)


def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import vonmises
        >>> vonmises.pdf(jnp.array([0.0, 1.0]), 1.0).round(3)
        Array([0.342, 0.216], dtype=float32)
    """
    return lax.exp(logpdf(x, kappa))


publish(globals(), __all__)
