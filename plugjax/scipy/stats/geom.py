"""The number of independent trials up to the first success: ``p * (1 - p)**(k - 1)`` for k = 1, 2, ..."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.special import xlog1py
from plugjax.scipy.stats.operands import real

__all__ = ["logpmf", "pmf"]


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Logarithm of the probability of ``k``.

    Example:
        >>> from plugjax.scipy.stats import geom
        >>> geom.logpmf(1.0, 0.5).round(3)
        Array(-0.693, dtype=float32, weak_type=True)
    """
    k, p, loc = real("geom.logpmf", k, p, loc)
    x = k - loc
    return where(x <= 0, -np.inf, xlog1py(x - scalar(1, k), -p) + lax.log(p))


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Probability of ``k``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import geom
        >>> geom.pmf(jnp.array([1, 2]), 0.5).round(3)
        Array([0.5 , 0.25], dtype=float32)
    """
    return lax.exp(logpmf(k, p, loc))


publish(globals(), __all__)
