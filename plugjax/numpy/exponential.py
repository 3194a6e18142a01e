"""Exponentials and logarithms."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.execution import eager_program
from plugjax.lax.exponential import log_add
from plugjax.numpy.promotion import (
    ArrayLike,
    convert,
    promote_inexact,
    scalar,
    to_inexact,
)

__all__ = [
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
]  # fmt: skip


@eager_program(1)
def exp(x: ArrayLike, /) -> Array:
    """``e ** x``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.exp(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return lax.exp(to_inexact("exp", x))


def exp2(x: ArrayLike, /) -> Array:
    """``2 ** x``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.exp2(jnp.array([0.0, 3.0])), 3)
        Array([1., 8.], dtype=float32)
    """
    return lax.exp2(to_inexact("exp2", x))


@eager_program(1)
def expm1(x: ArrayLike, /) -> Array:
    """``e ** x - 1``, accurate near 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.expm1(jnp.array([0.0, 1e-6])) > 0
        Array([False,  True], dtype=bool)
    """
    return lax.expm1(to_inexact("expm1", x))


@eager_program(1)
def log(x: ArrayLike, /) -> Array:
    """Natural logarithm, in nats.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.log(2.0).round(3)
        Array(0.693, dtype=float32, weak_type=True)
    """
    return lax.log(to_inexact("log", x))


@eager_program(1)
def log1p(x: ArrayLike, /) -> Array:
    """``log(1 + x)``, accurate near 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.log1p(jnp.array([0.0, 1e-6])) > 0
        Array([False,  True], dtype=bool)
    """
    return lax.log1p(to_inexact("log1p", x))


def _in_units(x: Array, unit: float) -> Array:
    """``x / unit`` on the parts of a complex number: the complex quotient is nan where one part is infinite."""
    if x.dtype.kind != "c":
        return convert(lax.div(x, scalar(unit, x)), x.dtype)
    parts = (lax.real(x), lax.imag(x))
    return convert(lax.complex(*(lax.div(v, scalar(unit, v)) for v in parts)), x.dtype)


def log2(x: ArrayLike, /) -> Array:
    """Logarithm to base 2, in bits.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.log2(jnp.array([1.0, 8.0])), 3)
        Array([0., 3.], dtype=float32)
    """
    x = to_inexact("log2", x)
    return _in_units(lax.log(x), np.log(2.0))


def log10(x: ArrayLike, /) -> Array:
    """Logarithm to base 10.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.log10(jnp.array([1.0, 100.0])), 3)
        Array([0., 2.], dtype=float32)
    """
    x = to_inexact("log10", x)
    found = lax.log(x)
    if found.dtype.kind != "c":
        return convert(lax.mul(found, scalar(1 / np.log(10.0), found)), found.dtype)
    return _in_units(found, np.log(10.0))


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Logarithm of the sum of exponentials, without overflow.

    Shapes:
        x1, x2: broadcast together -> ``[...]``, inexact.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.logaddexp(0.0, 1000.0)
        Array(1000., dtype=float32, weak_type=True)
    """
    x1, x2 = promote_inexact("logaddexp", x1, x2)
    total: Array = log_add(x1, x2)
    return total if x1.dtype.kind != "c" else _wrapped(total, np.pi)


def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Logarithm to base 2 of the sum of powers of 2, without overflow."""
    x1, x2 = promote_inexact("logaddexp2", x1, x2)
    total: Array = log_add(x1, x2, lax.exp2, _log2_of_one_more)
    return total if x1.dtype.kind != "c" else _wrapped(total, np.pi / np.log(2.0))


def _log2_of_one_more(x: Array) -> Array:
    bits = lax.log1p(x)
    return lax.div(bits, scalar(np.log(2.0), bits))


def _wrapped(x: Array, half: float) -> Array:
    """With an imaginary part between ``-half`` and ``half``."""
    imag = lax.imag(x)
    turn = scalar(2 * half, imag)
    turns = lax.round(lax.div(imag, turn), lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.complex(lax.real(x), lax.sub(imag, lax.mul(turn, turns)))


def cbrt(x: ArrayLike, /) -> Array:
    """Real cube root.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.cbrt(jnp.array([8.0, -27.0])), 3)
        Array([ 2., -3.], dtype=float32)
    """
    return lax.cbrt(to_inexact("cbrt", x))
