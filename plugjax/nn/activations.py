"""Activation functions."""

from __future__ import annotations

import math

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.lax.families import scalar as own_scalar
from plugjax.numpy.arithmetic import (
    absolute,
    maximum,
    minimum,
    multiply,
    sqrt,
    square,
    true_divide,
)
from plugjax.numpy.exponential import logaddexp
from plugjax.numpy.logic import greater_equal, less, less_equal
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    convert,
    pick,
    scalar,
    to_inexact,
)
from plugjax.numpy.selection import clip, where

__all__ = [
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu",
    "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus",
    "sparse_sigmoid", "squareplus", "swish", "tanh",
]  # fmt: skip


def _beside_floats(who: str, x: ArrayLike) -> Array:
    """An operand for formulas with Python floats: integers become weak floats."""
    found = as_operand(who, x)
    if dtypes.is_inexact(found.dtype):
        return found
    return convert(found, dtypes.canonicalize(float), True)


def identity(x: ArrayLike) -> Array:
    """``x`` itself.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.identity(jnp.array([1.0]))
        Array([1.], dtype=float32)
    """
    return as_operand("identity", x)


def relu(x: ArrayLike) -> Array:
    """``max(x, 0)``, with derivative 0 at 0.

    Example:
        >>> from plugjax import nn, numpy as jnp
        >>> nn.relu(jnp.array([-1.0, 2.0]))
        Array([0., 2.], dtype=float32)
    """
    x = as_operand("relu", x)
    if x.dtype == dtypes.BOOL:
        x = convert(x, dtypes.canonicalize(int), True)
    # In this order of the comparison, nan passes.
    zero = own_scalar(0, x)
    return pick(less_equal(x, zero), zero, x)


def relu6(x: ArrayLike) -> Array:
    """``min(max(x, 0), 6)``, with derivative 0 at 0 and at 6.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.relu6(jnp.array([-1.0, 3.0, 9.0]))
        Array([0., 3., 6.], dtype=float32)
    """
    x = relu(_beside_floats("relu6", x))
    six = own_scalar(6, x)
    return pick(greater_equal(x, six), six, x)


def sigmoid(x: ArrayLike) -> Array:
    """``1 / (1 + exp(-x))``.

    Example:
        >>> from plugjax import nn
        >>> nn.sigmoid(0.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.logistic(as_operand("sigmoid", x))


def softplus(x: ArrayLike) -> Array:
    """``log(1 + exp(x))``.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> jnp.round(nn.softplus(jnp.array([0.0])), 3)
        Array([0.693], dtype=float32)
    """
    return logaddexp(x, 0)


def sparse_plus(x: ArrayLike) -> Array:
    """0 below -1, ``(x + 1)**2 / 4`` up to 1, ``x`` above.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
        Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = _beside_floats("sparse_plus", x)
    curve = lax.mul(lax.square(lax.add(x, own_scalar(1, x))), own_scalar(0.25, x))
    return where(x <= -1.0, 0.0, where(x >= 1.0, x, curve))


def sparse_sigmoid(x: ArrayLike) -> Array:
    """``(x + 1) / 2``, cut off at 0 and 1: the derivative of :func:`sparse_plus`.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0]))
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = _beside_floats("sparse_sigmoid", x)
    return lax.mul(own_scalar(0.5, x), clip(lax.add(x, own_scalar(1, x)), 0.0, 2.0))


def soft_sign(x: ArrayLike) -> Array:
    """``x / (|x| + 1)``.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.soft_sign(jnp.array([1.0, -3.0]))
        Array([ 0.5 , -0.75], dtype=float32)
    """
    x = as_operand("soft_sign", x)
    return true_divide(x, absolute(x) + 1)


def silu(x: ArrayLike) -> Array:
    """``x * sigmoid(x)``, also called swish.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.silu(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.731], dtype=float32)
    """
    x = as_operand("silu", x)
    return lax.mul(x, lax.logistic(x))


swish = silu


def mish(x: ArrayLike) -> Array:
    """``x * tanh(softplus(x))``.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.mish(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.865], dtype=float32)
    """
    x = as_operand("mish", x)
    return multiply(x, lax.tanh(softplus(x)))


def log_sigmoid(x: ArrayLike) -> Array:
    """Logarithm of :func:`sigmoid`, without underflow.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> jnp.round(nn.log_sigmoid(jnp.array([0.0])), 3)
        Array([-0.693], dtype=float32)
    """
    x = as_operand("log_sigmoid", x)
    return lax.neg(softplus(lax.neg(x)))


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.elu(jnp.array([0.0, 2.0]))
        Array([0., 2.], dtype=float32)
    """
    x = as_operand("elu", x)
    positive = x > 0
    # The unused branch gets 0, where its derivative is finite.
    bounded = where(positive, 0.0, x)
    return where(positive, x, alpha * lax.expm1(to_inexact("elu", bounded)))


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """``x`` above 0, ``negative_slope * x`` below.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.leaky_relu(jnp.array([-2.0, 3.0]), 0.5)
        Array([-1.,  3.], dtype=float32)
    """
    x = as_operand("leaky_relu", x)
    return where(x >= 0, x, negative_slope * x)


def hard_tanh(x: ArrayLike) -> Array:
    """``x`` cut off at -1 and 1.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.hard_tanh(jnp.array([-3.0, 0.5, 3.0]))
        Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = as_operand("hard_tanh", x)
    return where(x > 1, 1, where(x < -1, -1, x))


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.celu(jnp.array([0.0, 2.0]))
        Array([0., 2.], dtype=float32)
    """
    return maximum(x, 0.0) + alpha * lax.expm1(to_inexact("celu", minimum(x, 0.0) / alpha))


def selu(x: ArrayLike) -> Array:
    """:func:`elu` scaled so that layers keep mean 0 and variance 1.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.selu(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 1.051], dtype=float32)
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """``x`` times the normal distribution function; ``approximate`` writes that with tanh.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.gelu(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.841], dtype=float32)
    """
    x = to_inexact("gelu", x)
    x = lax.convert_element_type(x, x.dtype)
    if approximate:
        root = math.sqrt(2 / math.pi)
        cube = lax.mul(scalar(0.044715, x), lax.integer_pow(x, 3))
        inner = lax.mul(scalar(root, x), lax.add(x, cube))
        return lax.mul(x, lax.mul(scalar(0.5, x), lax.add(scalar(1, x), lax.tanh(inner))))
    return lax.mul(
        lax.mul(scalar(0.5, x), x), lax.erfc(lax.mul(lax.neg(x), scalar(math.sqrt(0.5), x)))
    )


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half along an axis, times the sigmoid of the second.

    Raises:
        ValueError: the axis has an odd size.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.glu(jnp.array([2.0, 0.0]))
        Array([1.], dtype=float32)
    """
    x = as_operand("glu", x)
    axis = canonical_axis(axis, x.ndim)
    size = x.shape[axis]
    if size % 2:
        raise ValueError(
            f"glu needs an even size of its axis, got {size} for {x.aval.str_short()}."
        )
    first = lax.slice_in_dim(x, 0, size // 2, axis=axis)
    return lax.mul(first, lax.logistic(lax.slice_in_dim(x, size // 2, size, axis=axis)))


def hard_sigmoid(x: ArrayLike) -> Array:
    """``relu6(x + 3) / 6``.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.hard_sigmoid(jnp.array([-3.0, 0.0, 3.0]))
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    return relu6(as_operand("hard_sigmoid", x) + 3.0) / 6.0


def hard_silu(x: ArrayLike) -> Array:
    """``x * hard_sigmoid(x)``.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.hard_silu(jnp.array([-3.0, 0.0, 3.0]))
        Array([-0.,  0.,  3.], dtype=float32)
    """
    x = as_operand("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def tanh(x: ArrayLike, /) -> Array:
    """Hyperbolic tangent.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.tanh(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.762], dtype=float32)
    """
    return lax.tanh(to_inexact("tanh", x))


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """``(x + sqrt(x**2 + b)) / 2``, a :func:`softplus` without exponentials.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.squareplus(jnp.array([0.0]))
        Array([1.], dtype=float32)
    """
    x = as_operand("squareplus", x)
    return (x + sqrt(square(x) + b)) / 2


def log1mexp(x: ArrayLike) -> Array:
    """``log(1 - exp(-x))`` of positive ``x``, accurate near 0 and far from it.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> nn.log1mexp(jnp.array([1.0])) < 0
        Array([ True], dtype=bool)
    """
    x = as_operand("log1mexp", x)
    minus = lax.neg(x)
    near = less(x, math.log(2))
    minus = to_inexact("log1mexp", minus)
    # Each branch gets a harmless argument where it is not taken.
    small, large = where(near, minus, -1.0), where(near, -1.0, minus)
    return pick(near, lax.log(lax.neg(lax.expm1(small))), lax.log1p(lax.neg(lax.exp(large))))
