"""Independent events with the expected number mu: ``mu**k * exp(-mu) / k!``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.creation import arange
from plugjax.numpy.promotion import (
    ArrayLike,
    broadcast_shape,
    broadcast_to_shape,
    same_dtype,
    scalar,
)
from plugjax.numpy.selection import where
from plugjax.scipy.special import gammaincc, gammaln, xlogy
from plugjax.scipy.stats.operands import inexact

__all__ = ["cdf", "entropy", "logpmf", "pmf"]


def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of ``k``; -inf unless ``k`` is an integer.

    Example:
        >>> from plugjax.scipy.stats import poisson
        >>> poisson.logpmf(0.0, 2.0)
        Array(-2., dtype=float32, weak_type=True)
    """
    k, mu, loc = inexact("poisson.logpmf", k, mu, loc)
    outside = (k < loc) | (lax.floor(k) < k)
    x = where(outside, 0.0, k - loc)
    return where(outside, -np.inf, xlogy(x, mu) - gammaln(x + 1) - mu)


def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of ``k``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import poisson
        >>> poisson.pmf(jnp.array([0, 1]), 1.0).round(3)
        Array([0.368, 0.368], dtype=float32)
    """
    return lax.exp(logpmf(k, mu, loc))


def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of at most ``k``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import poisson
        >>> poisson.cdf(jnp.array([0, 1]), 1.0).round(3)
        Array([0.368, 0.736], dtype=float32)
    """
    k, mu, loc = inexact("poisson.cdf", k, mu, loc)
    x = k - loc
    return where(x < 0, scalar(0, k), gammaincc(lax.floor(1 + x), mu))


# Coefficients of mu**-1, mu**-2, ... in the asymptotic entropy.
_ENTROPY_SERIES = (-1 / 12, -1 / 24, -19 / 360, -9 / 80, -863 / 2520, -1375 / 1008)


def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Entropy in nats.

    Below a bound of ``mu`` the terms are added; above, the asymptotic expansion is as accurate.

    Reference:
        Evans, Boersma, Blachman and Jagers, "The entropy of a Poisson distribution", SIAM Review 30, 1988.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import poisson
        >>> poisson.entropy(jnp.array([1.0])).round(3)
        Array([1.305], dtype=float32)
    """
    mu, loc = same_dtype("poisson.entropy", mu, loc, inexact=True)
    shape = broadcast_shape("poisson.entropy", mu.shape, loc.shape)
    found: Any = _entropy(mu)
    return broadcast_to_shape("poisson.entropy", found, shape)


def _entropy(mu: Any) -> Array:
    bound, terms = (100.0, 250) if mu.dtype.itemsize == 8 else (20.0, 90)
    many, none = mu >= bound, mu == 0
    few, large = where(many | none, 1.0, mu), where(many, mu, bound)
    k = arange(terms, dtype=mu.dtype).reshape(-1, *(1,) * mu.ndim)
    logarithms = xlogy(k, few) - gammaln(k + 1) - few
    added = -(lax.exp(logarithms) * logarithms).sum(0)
    series = scalar(0, large)
    for c in reversed(_ENTROPY_SERIES):
        series = (series + c) / large
    expansion = 0.5 * lax.log(2 * math.pi * math.e * large) + series
    return where(many, expansion, where(none, 0.0, added))


publish(globals(), __all__)
