"""Normalization over axes: softmax and its relatives, standardization, one-hot encoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax

Axis = int | Sequence[int] | None


def _shift(x: Any, axis: Any, where: Any) -> Any:
    """The maximum over ``axis``, as a constant to differentiation; 0 where that is not finite."""
    peak = jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    return lax.stop_gradient(jnp.where(jnp.isfinite(peak), peak, 0.0))


def logsumexp(
    a: Any,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """``log(sum(b * exp(a)))`` over ``axis``, without overflow.

    Args:
        a: real array.
        axis: axes to sum over; all if left out.
        b: factors, broadcast against ``a``.
        keepdims: whether summed axes stay, with size 1.
        return_sign: whether to return the sign of the sum too, which may then be negative.
        where: which elements to include.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import nn
        >>> nn.logsumexp(jnp.array([1000.0, 1000.0]))
        Array(1000.6931, dtype=float32)
    """
    a = jnp.asarray(a)
    a = a if jnp.issubdtype(a.dtype, jnp.inexact) else a * 1.0
    if b is not None:
        a, b = jnp.broadcast_arrays(a, jnp.asarray(b, a.dtype))
        a = jnp.where(b != 0, a, -np.inf)
    shift = _shift(a, axis, where)
    terms = jnp.exp(a - shift)
    if b is not None:
        terms = b * terms
    total = jnp.sum(terms, axis, keepdims=True, where=where)
    sign = jnp.sign(total)
    if return_sign or b is not None:
        total = jnp.abs(total)
    out = jnp.log(total) + shift
    if b is not None and not return_sign:
        out = jnp.where(sign < 0, np.nan, out)
    if not keepdims:
        out = jnp.squeeze(out, axis)
        sign = jnp.squeeze(sign, axis)
    return (out, sign) if return_sign else out


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """``exp(x) / sum(exp(x))`` over ``axis``: weights that sum to one.

    Args:
        x: array of scores, in nats.
        axis: axes to normalize over.
        where: which elements to include; the others get 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import nn
        >>> nn.softmax(jnp.zeros(2))
        Array([0.5, 0.5], dtype=float32)
    """
    x = jnp.asarray(x)
    terms = jnp.exp(x - _peak(x, axis, where))
    if where is not None:
        terms = jnp.where(where, terms, 0.0)
    return terms / jnp.sum(terms, axis, keepdims=True)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """Logarithm of :func:`softmax`, without underflow.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import nn
        >>> nn.log_softmax(jnp.zeros(2))
        Array([-0.6931472, -0.6931472], dtype=float32)
    """
    x = jnp.asarray(x)
    shifted = x - _peak(x, axis, where)
    total = jnp.sum(jnp.exp(shifted), axis, keepdims=True, where=where)
    result = shifted - jnp.log(total)
    return result if where is None else jnp.where(where, result, -np.inf)


def _peak(x: Any, axis: Any, where: Any) -> Any:
    if where is None:
        return lax.stop_gradient(jnp.max(x, axis, keepdims=True))
    return lax.stop_gradient(jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True))


def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
) -> Any:
    """``(x - mean) / sqrt(variance + epsilon)`` over ``axis``."""
    x = jnp.asarray(x)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        variance = jnp.mean(jnp.square(x), axis, keepdims=True, where=where) - jnp.square(mean)
    return jnp.subtract(x, mean) * lax.rsqrt(jnp.asarray(variance + epsilon))


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Any:
    """Vectors that are 1 at the place ``x`` and 0 elsewhere; all 0 where ``x`` is out of range.

    Shapes:
        x: ``[...]``, integer -> ``[..., num_classes]``, with the new axis at ``axis``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import nn
        >>> nn.one_hot(jnp.array([0, 2]), 3)
        Array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    x = jnp.asarray(x)
    rank = x.ndim + 1
    place = axis % rank
    classes = jnp.arange(num_classes, dtype=x.dtype)
    classes = jnp.reshape(classes, (1,) * place + (num_classes,) + (1,) * (rank - place - 1))
    return jnp.equal(jnp.expand_dims(x, place), classes).astype(dtype or jnp.float_)
