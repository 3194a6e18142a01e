"""Activation functions, element by element. Where a function has a corner, the derivative there is stated."""

from __future__ import annotations

from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax


def relu(x: Any) -> Any:
    """Rectified linear unit, ``max(x, 0)``; its derivative at 0 is 0.

    Example:
        >>> from plugjax import nn
        >>> nn.relu(-2.0)
        Array(0., dtype=float32, weak_type=True)
    """
    x = jnp.asarray(x)
    # A selection, unlike a maximum, has derivative 0 at 0; a nan stays.
    return jnp.where(x <= 0, jnp.zeros_like(x), x)


def relu6(x: Any) -> Any:
    """``min(max(x, 0), 6)``; its derivative at 0 and 6 is 0."""
    x = jnp.asarray(x)
    return jnp.where(x >= 6, jnp.full_like(x, 6), relu(x))


def sigmoid(x: Any) -> Any:
    """Logistic function, ``1 / (1 + exp(-x))``."""
    return lax.logistic(_inexact(x))


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, without overflow."""
    return jnp.logaddexp(x, 0.0)


def sparse_plus(x: Any) -> Any:
    """0 below -1, ``(x + 1)**2 / 4`` up to 1, ``x`` above."""
    x = jnp.asarray(x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


def sparse_sigmoid(x: Any) -> Any:
    """The line ``(x + 1) / 2``, clipped to [0, 1]."""
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


def soft_sign(x: Any) -> Any:
    """``x / (1 + |x|)``."""
    x = jnp.asarray(x)
    return x / (jnp.abs(x) + 1)


def silu(x: Any) -> Any:
    """Sigmoid-weighted linear unit, ``x * sigmoid(x)``."""
    x = jnp.asarray(x)
    return x * sigmoid(x)


swish = silu


def mish(x: Any) -> Any:
    """``x * tanh(softplus(x))``."""
    x = jnp.asarray(x)
    return x * jnp.tanh(softplus(x))


def log_sigmoid(x: Any) -> Any:
    """``log(sigmoid(x))``, without underflow."""
    return -softplus(-jnp.asarray(x))


def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """``x`` from 0 on, ``negative_slope * x`` below."""
    x = jnp.asarray(x)
    return jnp.where(x >= 0, x, negative_slope * x)


def hard_tanh(x: Any) -> Any:
    """``x`` clipped to [-1, 1]."""
    x = jnp.asarray(x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


def hard_sigmoid(x: Any) -> Any:
    """``relu6(x + 3) / 6``."""
    return relu6(jnp.asarray(x) + 3.0) / 6.0


def hard_silu(x: Any) -> Any:
    """``x * hard_sigmoid(x)``."""
    x = jnp.asarray(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def elu(x: Any, alpha: Any = 1.0) -> Any:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""
    x = jnp.asarray(x)
    # The exponential sees no positive value: an overflow there would spoil the derivative.
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


def celu(x: Any, alpha: Any = 1.0) -> Any:
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below."""
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


def selu(x: Any) -> Any:
    """Scaled exponential linear unit.

    Reference:
        G. Klambauer et al., "Self-Normalizing Neural Networks", 2017.
    """
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def gelu(x: Any, approximate: bool = True) -> Any:
    """Gaussian error linear unit, ``x * Phi(x)``.

    Args:
        x: array.
        approximate: whether to use the approximation by tanh instead of the error function.

    Reference:
        D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units", 2016.
    """
    x = _inexact(x)
    if approximate:
        c = float(np.sqrt(2 / np.pi))
        return x * (0.5 * (1.0 + jnp.tanh(c * (x + 0.044715 * (x * x * x)))))
    return 0.5 * x * lax.erfc(-x * float(np.sqrt(0.5)))


def glu(x: Any, axis: int = -1) -> Any:
    """Gated linear unit: the first half along ``axis`` times the sigmoid of the second.

    Raises:
        ValueError: the axis has odd size.
    """
    x = jnp.asarray(x)
    size = x.shape[axis]
    if size % 2:
        raise ValueError(f"glu: axis {axis} must have even size, got {x.aval.str_short()}")
    first, second = jnp.split(x, 2, axis=axis)
    return first * sigmoid(second)


def squareplus(x: Any, b: Any = 4) -> Any:
    """``(x + sqrt(x**2 + b)) / 2``."""
    x = jnp.asarray(x)
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


def log1mexp(x: Any) -> Any:
    """``log(1 - exp(-x))`` for positive ``x``, without cancellation.

    Reference:
        M. Maechler, "Accurately Computing log(1 - exp(-|a|))", 2012.
    """
    x = _inexact(x)
    c = float(np.log(2))
    return jnp.where(x < c, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


def identity(x: Any) -> Any:
    """``x``."""
    return jnp.asarray(x)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return jnp.tanh(x)


def _inexact(x: Any) -> Any:
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x * 1.0
