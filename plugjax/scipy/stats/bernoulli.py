"""One trial that succeeds with probability p: ``k`` is 0 or 1, shifted by ``loc``."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.special import xlog1py, xlogy
from plugjax.scipy.stats.operands import no_probability, real

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of ``k``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import bernoulli
        >>> bernoulli.logpmf(jnp.arange(3), 0.25).round(3)
        Array([-0.288, -1.386,   -inf], dtype=float32)
    """
    k, p, loc = real("bernoulli.logpmf", k, p, loc)
    x = lax.sub(k, loc)
    found = xlogy(x, p) + xlog1py(scalar(1, k) - x, -p)
    return where((x < 0) | (x > 1), -np.inf, found)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of ``k``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import bernoulli
        >>> bernoulli.pmf(jnp.array([0, 1]), 0.25).round(3)
        Array([0.75, 0.25], dtype=float32)
    """
    return lax.exp(logpmf(k, p, loc))


def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """Probability of at most ``k``; nan where ``p`` is not a probability.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import bernoulli
        >>> bernoulli.cdf(jnp.array([0, 1]), 0.25).round(3)
        Array([0.75, 1.  ], dtype=float32)
    """
    k, p = real("bernoulli.cdf", k, p)
    unknown = (k != k) | no_probability(p)
    steps = where(k < 0, scalar(0, k), where(k < 1, 1 - p, scalar(1, k)))
    return where(unknown, np.nan, steps)


def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """Quantiles: the least outcome whose :func:`cdf` is at least ``q``; nan outside of [0, 1].

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import bernoulli
        >>> bernoulli.ppf(jnp.array([0.25, 0.9]), 0.25).round(3)
        Array([0., 1.], dtype=float32)
    """
    q, p = real("bernoulli.ppf", q, p)
    outcome = where(q <= 1 - p, scalar(0, q), scalar(1, q))
    return where(no_probability(q) | no_probability(p), np.nan, outcome)


publish(globals(), __all__)
