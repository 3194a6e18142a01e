"""Operations on bits."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.core.array import Array
from plugjax.numpy.promotion import ArrayLike, as_operand, promote_args, promote_numeric

__all__ = [
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "invert", "left_shift", "right_shift",
]  # fmt: skip


def bitwise_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Conjunction of bits, or of bools."""
    x, y = promote_args("bitwise_and", x, y)
    return lax.bitwise_and(x, y)


def bitwise_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Disjunction of bits, or of bools."""
    x, y = promote_args("bitwise_or", x, y)
    return lax.bitwise_or(x, y)


def bitwise_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Exclusive disjunction of bits, or of bools."""
    x, y = promote_args("bitwise_xor", x, y)
    return lax.bitwise_xor(x, y)


def bitwise_not(x: ArrayLike, /) -> Array:
    """Negation of bits, or of bools."""
    return lax.bitwise_not(as_operand("bitwise_not", x))


invert = bitwise_not
bitwise_invert = bitwise_not


def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``x << y``; 0 where ``y`` is not below the number of bits."""
    x, y = promote_numeric("left_shift", x, y)
    return lax.shift_left(x, y)


def right_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``x >> y``: signed integers keep their sign, unsigned ones are filled with zeros.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.right_shift(jnp.array([8, -8]), 1)
        Array([ 4, -4], dtype=int32)
    """
    x, y = promote_numeric("right_shift", x, y)
    shift = lax.shift_right_logical if x.dtype.kind == "u" else lax.shift_right_arithmetic
    return shift(x, y)


bitwise_left_shift = left_shift
bitwise_right_shift = right_shift


def bitwise_count(x: ArrayLike, /) -> Array:
    """Number of bits that are set in ``|x|``, as uint8."""
    x = as_operand("bitwise_count", x)
    if x.dtype.kind == "b":
        return lax.convert_element_type(x, np.uint8)
    magnitude = x if x.dtype.kind == "u" else lax.abs(x)
    return lax.convert_element_type(lax.population_count(magnitude), np.uint8)
