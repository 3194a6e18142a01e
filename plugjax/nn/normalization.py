"""Normalised exponentials, standardisation and one-hot codes."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array, config
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.errors import DtypeError, NamedAxisError
from plugjax.numpy import reductions
from plugjax.numpy.creation import asarray
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    broadcast_to_shape,
    canonical_dtype,
    pick,
    promote_inexact,
    scalar,
    to_inexact,
)
from plugjax.numpy.reductions import AxisArg
from plugjax.numpy.selection import clip

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]


def _logits(who: str, x: ArrayLike, axis: AxisArg, where: ArrayLike | None) -> Array:
    """Logits as a floating or complex operand; bools are refused unless there is a mask."""
    found = as_operand(who, x)
    if found.dtype == dtypes.BOOL and where is None:
        reductions.any(found, axis)  # Complain about wrong axes first.
        raise DtypeError(f"{who} takes numbers, got bool. Convert the array with astype.")
    return to_inexact(who, found)


def _mask(who: str, x: Array, where: ArrayLike | None) -> Array | None:
    return None if where is None else broadcast_to_shape(who, as_operand(who, where), x.shape)


def _shifted(x: Array, axis: AxisArg, mask: Array | None) -> Array:
    """``x`` minus its maximum, which counts as a constant in derivatives; 0 where the mask is false."""
    top = reductions.max(
        x,
        axis,
        keepdims=True,
        initial=-np.inf if mask is not None or not x.size else None,
        where=mask,
    )
    shifted = lax.sub(x, lax.stop_gradient(top))
    # Exponentials of masked elements may be infinite or nan, and so would be the derivatives.
    return shifted if mask is None else pick(mask, shifted, scalar(0, shifted))


def _total(exponentials: Array, axis: AxisArg, mask: Array | None) -> Array:
    """The sum of exponentials; 1 where everything is masked."""
    total = reductions.sum(exponentials, axis, keepdims=True, where=mask)
    if mask is None:
        return total
    return pick(lax.eq(total, scalar(0, total)), scalar(1, total), total)


def softmax(x: ArrayLike, axis: AxisArg = -1, where: ArrayLike | None = None) -> Array:
    """``exp(x) / sum(exp(x))`` along axes; 0 where ``where`` is false.

    Units:
        x: logits in nats.

    Raises:
        TypeError: ``x`` is of bools.

    Example:
        >>> from plugjax import nn, numpy as jnp
        >>> nn.softmax(jnp.zeros(2))
        Array([0.5, 0.5], dtype=float32)
    """
    x = _logits("softmax", x, axis, where)
    mask = _mask("softmax", x, where)
    return (_softmax if config.read("softmax_custom_jvp") else _quotient)(x, axis, mask)


def _quotient(x: Array, axis: AxisArg, mask: Array | None) -> Array:
    unnormalized = lax.exp(_shifted(x, axis, mask))
    total = _total(unnormalized, axis, mask)
    result = lax.div(unnormalized, total)
    return result if mask is None else pick(mask, result, scalar(0, result))


# In terms of its result, which is all that the derivative keeps.
_softmax = custom_jvp(_quotient, nondiff_argnums=(1,))


@_softmax.defjvp
def _softmax_jvp(axis: AxisArg, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x, mask), (x_dot, _) = primals, tangents
    y = _softmax(x, axis, mask)
    mean = reductions.sum(lax.mul(y, x_dot), axis, keepdims=True, where=mask)
    return y, lax.mul(y, lax.sub(x_dot, mean))


def log_softmax(x: ArrayLike, axis: AxisArg = -1, where: ArrayLike | None = None) -> Array:
    """Logarithm of :func:`softmax`; -inf where ``where`` is false.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> jnp.round(nn.log_softmax(jnp.array([0.0, 0.0])), 3)
        Array([-0.693, -0.693], dtype=float32)
    """
    x = _logits("log_softmax", x, axis, where)
    mask = _mask("log_softmax", x, where)
    shifted = _shifted(x, axis, mask)
    total = _total(lax.exp(shifted), axis, mask)
    result = lax.sub(shifted, lax.log(total))
    return result if mask is None else pick(mask, result, scalar(-np.inf, result))


@overload
def logsumexp(
    a: ArrayLike,
    axis: AxisArg = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...


@overload
def logsumexp(
    a: ArrayLike,
    axis: AxisArg = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...


def logsumexp(
    a: ArrayLike,
    axis: AxisArg = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Any:
    """Logarithm of the sum of exponentials, ``log(sum(b * exp(a)))``, without overflow.

    Args:
        a: array.
        axis: axis or axes; all by default.
        b: factors.
        keepdims: whether to keep the axes, with size 1.
        return_sign: whether to return the sign of the sum as well; without it a negative sum is nan.
        where: mask of the elements that count.

    Example:
        >>> from plugjax import nn, numpy as jnp
        >>> nn.logsumexp(jnp.array([1000.0, -jnp.inf]))
        Array(1000., dtype=float32)
    """
    if b is not None:
        x, factor = promote_inexact("logsumexp", a, b)
        shape = np.broadcast_shapes(x.shape, factor.shape)
        x, factor = (broadcast_to_shape("logsumexp", v, shape) for v in (x, factor))
        x = pick(lax.ne(factor, scalar(0, factor)), x, scalar(-np.inf, x))
    else:
        x, factor = to_inexact("logsumexp", a), None
    mask = _mask("logsumexp", x, where)
    real = lax.real(x) if x.dtype.kind == "c" else x
    top = reductions.max(real, axis, keepdims=True, initial=-np.inf, where=mask)
    top = lax.stop_gradient(pick(lax.is_finite(top), top, scalar(0, top)))
    shift = lax.convert_element_type(top, x.dtype) if x.dtype.kind == "c" else top
    shifted = lax.sub(x, shift)
    if mask is not None:
        # The exponential of a masked element may be infinite, and its derivative nan.
        shifted = pick(mask, shifted, scalar(0, shifted))
    terms = lax.exp(shifted)
    if factor is not None:
        terms = lax.mul(terms, factor)
    total = reductions.sum(terms, axis, keepdims=keepdims, where=mask)
    sign = lax.sign(total)
    top = lax.reshape(shift, total.shape)
    if return_sign or b is None or x.dtype.kind == "c":
        magnitude = (
            lax.abs(total) if (return_sign or b is not None) and x.dtype.kind != "c" else total
        )
        result = lax.add(lax.log(magnitude), top)
    else:
        result = lax.add(lax.log(total), top)
    if not return_sign:
        return result
    return (lax.real(result) if x.dtype.kind == "c" else result), sign


def logmeanexp(
    x: ArrayLike, axis: AxisArg = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """Logarithm of the mean of exponentials.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.logmeanexp(jnp.array([0.0, 2.0])).round(3)
        Array(1.434, dtype=float32)
    """
    total = logsumexp(x, axis, keepdims=keepdims, where=where)
    values = as_operand("logmeanexp", x)
    mask = (
        lax.full(values.shape, True)
        if where is None
        else broadcast_to_shape("logmeanexp", as_operand("logmeanexp", where), values.shape)
    )
    count = reductions.sum(mask, axis, total.dtype, keepdims=keepdims)
    return lax.sub(total, lax.log(count))


def standardize(
    x: ArrayLike,
    axis: AxisArg = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """``(x - mean) / sqrt(variance + epsilon)``; moments along axes unless they are given.

    Args:
        x: array.
        axis: axis or axes of the moments.
        mean: instead of the mean along the axes.
        variance: instead of the variance along the axes.
        epsilon: added to the variance.
        where: mask of the elements that count in the moments.
        algorithm: for the variance, ``"fast"`` takes the mean of squares less the square of the mean (0, if rounding makes that
            negative), ``"stable"`` the mean of squared deviations.

    Raises:
        ValueError: another algorithm.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> jnp.round(nn.standardize(jnp.array([1.0, 3.0])), 3)
        Array([-1.,  1.], dtype=float32)
    """
    x = to_inexact("standardize", x)
    if mean is None:
        mean = reductions.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            variance = reductions.mean(lax.square(x - mean), axis, keepdims=True, where=where)
        elif algorithm == "fast":
            squares = reductions.mean(lax.square(x), axis, keepdims=True, where=where)
            variance = clip(squares - lax.square(as_operand("standardize", mean)), 0)
        else:
            raise ValueError(f"standardize: algorithm is 'fast' or 'stable', got {algorithm!r}.")
    spread = as_operand("standardize", variance) + epsilon
    return (x - mean) * lax.rsqrt(spread)


def one_hot(
    x: ArrayLike, num_classes: int, *, dtype: DTypeLike | None = None, axis: int = -1
) -> Array:
    """Vectors with 1 at an index and 0 elsewhere; all 0 for an index out of bounds.

    Shapes:
        x: ``[...]``, integer -> ``[..., num_classes]``, or with the new axis at ``axis``.

    Example:
        >>> from plugjax import nn, numpy as jnp
        >>> nn.one_hot(jnp.array([0, 2]), 3)
        Array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    x = asarray(x)
    wanted = canonical_dtype("one_hot", float if dtype is None else dtype)
    if not hasattr(axis, "__index__"):
        raise NamedAxisError(
            f"one_hot: no mapped axis has the name {axis!r}; count axes by numbers."
        )
    position = canonical_axis(axis, x.ndim + 1)
    shape = (*x.shape[:position], num_classes, *x.shape[position:])
    if dtypes.is_inexact(x.dtype):
        x = lax.convert_element_type(x, dtypes.INT32)
    classes = lax.broadcasted_iota(x.dtype, shape, position)
    given = lax.broadcast_in_dim(x, shape, tuple(i for i in range(len(shape)) if i != position))
    return lax.convert_element_type(lax.eq(given, classes), wanted)
