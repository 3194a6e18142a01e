"""The normal distribution of vectors: density ``exp(-y' C**-1 y / 2) / sqrt(det(2 pi C))`` with ``y = x - mean``."""

from __future__ import annotations

import math
from typing import Any

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.lax.linalg import cholesky, triangular_solve
from plugjax.numpy.einsum import einsum
from plugjax.numpy.indexing import diagonal
from plugjax.numpy.promotion import (
    ArrayLike,
    broadcast_shape,
    broadcast_to_shape,
    rounded,
    same_dtype,
)

__all__ = ["logpdf", "pdf"]

_LOG_2PI = math.log(2 * math.pi)


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """Logarithm of the density.

    Args:
        x: ``[..., n]``.
        mean: ``[..., n]``; if it is a scalar, each element of ``x`` is a sample.
        cov: the covariance, ``[..., n, n]`` and positive definite, or a scalar multiple of the identity.
        allow_singular: must not be given.

    Returns:
        ``[...]``.

    Raises:
        NotImplementedError: ``allow_singular`` is given, as in JAX.
        ValueError: shapes that do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import multivariate_normal
        >>> multivariate_normal.logpdf(jnp.ones(2), jnp.zeros(2), jnp.eye(2)).round(3)
        Array(-2.838, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError("multivariate_normal.logpdf: allow_singular is not implemented.")
    x, mean, cov = same_dtype("multivariate_normal.logpdf", *rounded(x, mean, cov), inexact=True)
    if not mean.ndim:
        y: Any = x - mean
        return -0.5 * (y * y / cov + lax.log(cov) + _LOG_2PI)
    size = mean.shape[-1]
    if cov.ndim and (cov.ndim < 2 or cov.shape[-2:] != (size, size)):
        raise ValueError(
            f"multivariate_normal.logpdf: a mean of shape {mean.shape} does not fit a cov of shape {cov.shape}."
        )
    y = x - mean
    if not cov.ndim:
        return -0.5 * (_squared(y) / cov + size * (lax.log(cov) + _LOG_2PI))
    factor = cholesky(cov)
    w = _solved(factor, y)
    log_root_det = lax.log(diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    return -0.5 * _squared(w) - (log_root_det + 0.5 * size * _LOG_2PI)


def _squared(y: Any) -> Any:
    """Squared lengths of vectors along the last axis."""
    return einsum("...i,...i->...", y, y)


def _solved(factor: Any, y: Any) -> Any:
    """``factor**-1 y``, for vectors along the last axis."""
    size = y.shape[-1]
    if factor.ndim == 2:
        rows = triangular_solve(factor, y.reshape(-1, size), lower=True, transpose_a=True)
        return rows.reshape(y.shape)
    batch = broadcast_shape("multivariate_normal.logpdf", factor.shape[:-2], y.shape[:-1])
    factor = broadcast_to_shape("multivariate_normal.logpdf", factor, (*batch, size, size))
    y = broadcast_to_shape("multivariate_normal.logpdf", y, (*batch, size))
    return triangular_solve(factor, y, left_side=True, lower=True)


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Density.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import multivariate_normal
        >>> multivariate_normal.pdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2)).round(3)
        Array(0.159, dtype=float32)
    """
    return lax.exp(logpdf(x, mean, cov))


publish(globals(), __all__)
