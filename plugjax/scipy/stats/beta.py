"""The beta distribution: density ``z**(a-1) * (1-z)**(b-1) / B(a, b)`` between 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.special import betainc, betaln, xlog1py, xlogy
from plugjax.scipy.stats.operands import inexact

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Logarithm of the density; nan where ``a``, ``b`` or ``scale`` is not positive.

    Example:
        >>> from plugjax.scipy.stats import beta
        >>> beta.logpdf(0.25, 2.0, 1.0).round(3)
        Array(-0.693, dtype=float32, weak_type=True)
    """
    x, a, b, loc, scale = inexact("beta.logpdf", x, a, b, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    z = where(outside, 0.5, (x - loc) / scale)
    one = scalar(1, x)
    found = xlogy(a - one, z) + xlog1py(b - one, -z) - betaln(a, b) - lax.log(scale)
    found = where(outside, -np.inf, found)
    return where((a <= 0) | (b <= 0) | (scale <= 0), np.nan, found)


def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import beta
        >>> beta.pdf(jnp.array([0.25, 0.5]), 2.0, 2.0).round(3)
        Array([1.125, 1.5  ], dtype=float32)
    """
    return lax.exp(logpdf(x, a, b, loc, scale))


def _clipped(x: Any, loc: Any, scale: Any) -> Any:
    z = lax.div(lax.sub(x, loc), scale)
    return lax.clamp(scalar(0, x), z, scalar(1, x))


def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import beta
        >>> beta.cdf(jnp.array([0.25, 0.5]), 2.0, 2.0).round(3)
        Array([0.156, 0.5  ], dtype=float32)
    """
    x, a, b, loc, scale = inexact("beta.cdf", x, a, b, loc, scale)
    return betainc(a, b, _clipped(x, loc, scale))


def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Logarithm of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import beta
        >>> beta.logcdf(jnp.array([0.25, 0.5]), 2.0, 2.0).round(3)
        Array([-1.856, -0.693], dtype=float32)
    """
    return lax.log(cdf(x, a, b, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import beta
        >>> beta.sf(jnp.array([0.25, 0.5]), 2.0, 2.0).round(3)
        Array([0.844, 0.5  ], dtype=float32)
    """
    x, a, b, loc, scale = inexact("beta.sf", x, a, b, loc, scale)
    return betainc(b, a, 1 - _clipped(x, loc, scale))


def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Logarithm of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import beta
        >>> beta.logsf(jnp.array([0.25, 0.5]), 2.0, 2.0).round(3)
        Array([-0.17 , -0.693], dtype=float32)
    """
    return lax.log(sf(x, a, b, loc, scale))


publish(globals(), __all__)
