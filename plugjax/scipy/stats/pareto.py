"""The Pareto distribution: survival function ``z**-b`` above 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.nn.activations import log1mexp
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.stats.operands import inexact, no_probability, real

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density.

    Example:
        >>> from plugjax.scipy.stats import pareto
        >>> pareto.logpdf(1.0, 2.0).round(3)
        Array(0.693, dtype=float32, weak_type=True)
    """
    x, b, loc, scale = real("pareto.logpdf", x, b, loc, scale)
    below = x < loc + scale
    log_z = lax.log(where(below, 1.0, (x - loc) / scale))
    return where(below, -np.inf, lax.log(b / scale) - (b + scalar(1, x)) * log_z)


def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import pareto
        >>> pareto.pdf(jnp.array([1.5, 2.0]), 1.0).round(3)
        Array([0.444, 0.25 ], dtype=float32)
    """
    return lax.exp(logpdf(x, b, loc, scale))


def _hazard(x: Any, b: Any, loc: Any, scale: Any, one: Any) -> Any:
    """The cumulative hazard ``b * log(z)``; below the support z is replaced by ``one``."""
    return b * lax.log(where(x < loc + scale, one, (x - loc) / scale))


def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import pareto
        >>> pareto.cdf(jnp.array([1.5, 2.0]), 1.0).round(3)
        Array([0.333, 0.5  ], dtype=float32)
    """
    x, b, loc, scale = real("pareto.cdf", x, b, loc, scale)
    return -lax.expm1(-_hazard(x, b, loc, scale, scalar(1, x)))


def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`cdf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import pareto
        >>> pareto.logcdf(jnp.array([1.5, 2.0]), 1.0).round(3)
        Array([-1.099, -0.693], dtype=float32)
    """
    x, b, loc, scale = real("pareto.logcdf", x, b, loc, scale)
    return log1mexp(_hazard(x, b, loc, scale, 1.0))


def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of :func:`sf`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import pareto
        >>> pareto.logsf(jnp.array([1.5, 2.0]), 1.0).round(3)
        Array([-0.405, -0.693], dtype=float32)
    """
    x, b, loc, scale = real("pareto.logsf", x, b, loc, scale)
    return -_hazard(x, b, loc, scale, scalar(1, x))


def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import pareto
        >>> pareto.sf(jnp.array([1.5, 2.0]), 1.0).round(3)
        Array([0.667, 0.5  ], dtype=float32)
    """
    return lax.exp(logsf(x, b, loc, scale))


def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantiles, the inverse of :func:`cdf`; nan outside of [0, 1].

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import pareto
        >>> pareto.ppf(jnp.array([0.25, 0.5]), 1.0).round(3)
        Array([1.333, 2.   ], dtype=float32)
    """
    q, b, loc, scale = inexact("pareto.ppf", q, b, loc, scale)
    return where(
        no_probability(q), np.nan, loc + scale * lax.exp(scalar(-1, q) * lax.log1p(-q) / b)
    )


publish(globals(), __all__)
