"""The Dirichlet distribution: density ``prod(x**(alpha-1)) / B(alpha)`` over vectors of positive parts of 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.joining import concatenate
from plugjax.numpy.promotion import ArrayLike, rounded, same_dtype, scalar
from plugjax.numpy.selection import where
from plugjax.scipy.special import gammaln, xlogy

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Logarithm of the density.

    Args:
        x: ``[k, ...]``; with ``k - 1`` rows, the last one is 1 minus their sum.
        alpha: ``[k]``.

    Returns:
        ``[...]``, -inf where the rows are not positive, or do not add up to 1.

    Raises:
        ValueError: other shapes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import dirichlet
        >>> dirichlet.logpdf(jnp.array([0.25, 0.75]), jnp.array([2.0, 1.0])).round(3)
        Array(-0.693, dtype=float32)
    """
    x, alpha = same_dtype("dirichlet.logpdf", *rounded(x, alpha), inexact=True)
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet: alpha is a vector, got shape {alpha.shape}.")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            "dirichlet: x has as many entries as alpha along its first axis, or one less; got "
            f"shapes {x.shape} and {alpha.shape}."
        )
    parts: Any = x
    if x.shape[0] < alpha.shape[0]:
        parts = concatenate([x, 1 - x.sum(0, keepdims=True)])
    inside = (parts > 0).all(0) & (lax.abs(parts.sum(0) - 1) < 1e-6)
    exponents = (alpha - scalar(1, x)).reshape(-1, *(1,) * (parts.ndim - 1))
    found = xlogy(exponents, parts).sum(0) - (gammaln(alpha).sum() - gammaln(alpha.sum()))
    return where(inside, found, -np.inf)


def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import dirichlet
        >>> dirichlet.pdf(jnp.array([0.5, 0.5]), jnp.array([2.0, 2.0])).round(3)
        Array(1.5, dtype=float32)
    """
    return lax.exp(logpdf(x, alpha))


publish(globals(), __all__)
