"""Operations on bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.numpy.manipulation import canonical_axes, canonical_axis, moveaxis, ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    converted,
    promote_args,
    promote_numeric,
    scalar,
)

__all__ = [
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "invert", "left_shift", "packbits", "right_shift", "unpackbits",
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
    """Negation of bits, or of bools.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.bitwise_not(jnp.array([0, 5]))
        Array([-1, -6], dtype=int32)
    """
    return lax.bitwise_not(as_operand("bitwise_not", x))


invert = bitwise_not
bitwise_invert = bitwise_not


def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``x << y``; 0 where ``y`` is not below the number of bits.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.left_shift(jnp.array([1, 3]), 2)
        Array([ 4, 12], dtype=int32)
    """
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
    shift = (
        lax.shift_right_logical if dtypes.kind_of(x.dtype) == "u" else lax.shift_right_arithmetic
    )
    return shift(x, y)


bitwise_left_shift = left_shift
bitwise_right_shift = right_shift


def bitwise_count(x: ArrayLike, /) -> Array:
    """Number of bits that are set in ``|x|``, as uint8.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.bitwise_count(jnp.array([0, 7, 8]))
        Array([0, 3, 1], dtype=uint8)
    """
    x = as_operand("bitwise_count", x)
    if x.dtype.kind == "b":
        return lax.convert_element_type(x, np.uint8)
    magnitude = x if dtypes.kind_of(x.dtype) == "u" else lax.abs(x)
    return lax.convert_element_type(lax.population_count(magnitude), np.uint8)


def _weights(bitorder: str) -> np.ndarray:
    """Weight of each bit of a byte in the requested order."""
    if bitorder not in ("little", "big"):
        raise ValueError(
            f"packbits and unpackbits know bitorder 'big' and 'little', got {bitorder!r}."
        )
    places = np.arange(8, dtype=np.uint8)
    return places[::-1] if bitorder == "big" else places


def _shifted(
    shift: Callable[[ArrayLike, ArrayLike], Operand], x: Operand, places: np.ndarray
) -> Operand:
    return shift(x, places.reshape((*(1,) * (x.ndim - 1), 8)))


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Bools, or integers that are 0 or not, as bits of bytes along an axis; the last byte is filled with zeros.

    Args:
        a: the bits.
        axis: axis of the bits; ``None`` flattens.
        bitorder: ``"big"``, the first bit is the highest, or ``"little"``.

    Raises:
        TypeError: neither bools nor integers.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.packbits(jnp.array([1, 0, 1]))
        Array([160], dtype=uint8)
    """
    x = as_operand("packbits", a)
    if dtypes.kind_of(x.dtype) not in "biu":
        raise TypeError("packbits takes bools or integers; convert the array with .astype first.")
    places = _weights(bitorder)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis(axis, x.ndim)
    bits = converted(lax.ne(x, scalar(0, x)), np.dtype(np.uint8))
    bits = moveaxis(bits, axis, -1)
    lead, size = bits.shape[:-1], bits.shape[-1]
    bits = lax.pad(bits, np.uint8(0), [*[(0, 0, 0)] * len(lead), (0, -size % 8, 0)])
    bits = lax.reshape(bits, (*lead, -(-size // 8), 8))
    return moveaxis(
        lax.reduce_sum(_shifted(lax.shift_left, bits, places), (bits.ndim - 1,)), -1, axis
    )


def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The bits of bytes along an axis, as bytes 0 and 1.

    Arguments as of :func:`packbits`; ``count`` is the number of bits to return.

    Raises:
        TypeError: the dtype is not uint8.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.unpackbits(jnp.array([160], jnp.uint8), count=3)
        Array([1, 0, 1], dtype=uint8)
    """
    x = as_operand("unpackbits", a)
    if x.dtype != np.uint8:
        raise TypeError("unpackbits takes bytes, uint8; convert the array with .astype first.")
    places = _weights(bitorder)
    if axis is None:
        x, axis = ravel(x), 0
    (axis,) = canonical_axes(axis, x.ndim)
    x = moveaxis(x, axis, -1)
    bits = _shifted(lax.shift_right_logical, lax.expand_dims(x, (x.ndim,)), places)
    bits = lax.bitwise_and(bits, np.uint8(1))
    bits = lax.reshape(bits, (*x.shape[:-1], 8 * x.shape[-1]))
    if count is not None:
        if count < 0:
            count = max(0, bits.shape[-1] + count)
        surplus = count - bits.shape[-1]
        bits = lax.pad(bits, np.uint8(0), [*[(0, 0, 0)] * (bits.ndim - 1), (0, surplus, 0)])
    return moveaxis(bits, -1, axis)
