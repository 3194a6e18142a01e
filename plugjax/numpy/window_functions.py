"""Tapers for spectral analysis, and the Bessel function of the Kaiser window."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.numpy.promotion import ArrayLike, as_operand, to_inexact

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]


def _positions(size: Any) -> tuple[int, Array | None]:
    """The size, and the integers below it; ``None`` for windows so short that they are all ones."""
    size = int(size)
    return size, lax.iota(dtypes.canonicalize(float), size) if size > 1 else None


def _ones(size: int) -> Array:
    return lax.full((size,), 1, dtypes.canonicalize(float))


def _cosines(size: Any, weights: tuple[float, ...]) -> Array:
    size, n = _positions(size)
    if n is None:
        return _ones(size)
    found: Any = weights[0]
    for k, weight in enumerate(weights[1:], 1):
        found = found + weight * lax.cos(2 * np.pi * k * n / (size - 1))
    return found


def blackman(M: int) -> Array:
    """Blackman window of ``M`` values.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.blackman(5), 2)
        Array([-0.  ,  0.34,  1.  ,  0.34, -0.  ], dtype=float32)
    """
    return _cosines(M, (0.42, -0.5, 0.08))


def hamming(M: int) -> Array:
    """Hamming window of ``M`` values.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.hamming(3).round(2)
        Array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _cosines(M, (0.54, -0.46))


def hanning(M: int) -> Array:
    """Hann window of ``M`` values.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.hanning(3), 3)
        Array([0., 1., 0.], dtype=float32)
    """
    return _cosines(M, (0.5, -0.5))


def bartlett(M: int) -> Array:
    """Triangular window of ``M`` values.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.bartlett(5), 3)
        Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    size, n = _positions(M)
    return _ones(size) if n is None else 1 - abs(2 * n + 1 - size) / (size - 1)


def kaiser(M: int, beta: ArrayLike) -> Array:
    """Kaiser window of ``M`` values; the larger ``beta``, the narrower.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.kaiser(3, 2.0), 3)
        Array([0.439, 1.   , 0.439], dtype=float32)
    """
    size, n = _positions(M)
    if n is None:
        return _ones(size)
    beta = as_operand("kaiser", beta)
    middle = 0.5 * (size - 1)
    return i0(beta * lax.sqrt(1 - lax.square((n - middle) / middle))) / i0(beta)


def i0(x: ArrayLike) -> Array:
    """Modified Bessel function I of order 0.

    Raises:
        ValueError: complex input.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.i0(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    x = to_inexact("i0", x)
    if x.dtype.kind == "c":
        raise ValueError(f"i0 takes real numbers, got dtype {x.dtype}")
    size = lax.max(x, lax.neg(x))  # The derivative is 0 at 0.
    return lax.mul(lax.exp(size), lax.bessel_i0e(size))
