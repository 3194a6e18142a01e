"""Counts of the outcomes of n independent trials: ``n! * prod(p**x / x!)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.dtypes import is_integer
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, promote_numeric, to_inexact
from plugjax.numpy.selection import where
from plugjax.scipy.special import gammaln, xlogy

__all__ = ["logpmf", "pmf"]


def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Logarithm of the probability of the counts ``x``.

    Args:
        x: ``[..., k]``, integers.
        n: number of trials, an integer; the probability is 0 unless the counts add up to it.
        p: ``[..., k]``, probabilities.

    Raises:
        ValueError: ``x`` or ``n`` is not of integer dtype.

    Differs from JAX:
        Each of several vectors of counts is compared with ``n``; JAX compares their total.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import multinomial
        >>> multinomial.logpmf(jnp.array([1, 1]), 2, jnp.array([0.5, 0.5])).round(6).round(3)
        Array(-0.693, dtype=float32)
    """
    chances: Any = to_inexact("multinomial.logpmf", p)
    counts, total = promote_numeric("multinomial.logpmf", x, n)
    if not is_integer(counts.dtype):
        raise ValueError(
            f"multinomial: x and n need integer dtypes, got {counts.dtype} and {total.dtype}."
        )
    k, size = counts.astype(chances.dtype), total.astype(chances.dtype)
    found = gammaln(size + 1) + (xlogy(k, chances) - gammaln(k + 1)).sum(-1)
    right = (counts.sum(-1) if counts.ndim else counts) == total
    return where(right, found, -np.inf)


def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Probability of the counts ``x``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import multinomial
        >>> multinomial.pmf(jnp.array([1, 1]), 2, jnp.array([0.5, 0.5])).round(3)
        Array(0.5, dtype=float32)
    """
    return lax.exp(logpmf(x, n, p))


publish(globals(), __all__)
