"""Rounding, and the parts of floating-point numbers."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import BOOL
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    broadcast_ranks,
    check_numbers,
    converted,
    limits,
    pick,
    promote_inexact,
    reject_out,
    scalar,
    to_inexact,
)

__all__ = [
    "around", "ceil", "copysign", "floor", "frexp", "ldexp", "modf", "nextafter", "rint", "round",
    "signbit", "spacing", "trunc",
]  # fmt: skip


def signbit(x: ArrayLike, /) -> Array:
    """Whether the sign bit is set; true for -0.0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.signbit(jnp.array([-0.0, 1.0]))
        Array([ True, False], dtype=bool)
    """
    x = as_operand("signbit", x)
    check_numbers("signbit", x)
    if x.dtype.kind == "c":
        raise ValueError(f"signbit is not defined for complex numbers, got {x.dtype.name}.")
    if dtypes.kind_of(x.dtype) in "ub" or x.dtype == dtypes.UNSIGNED_FLOAT8:
        return lax.full_like(x, False, dtype=BOOL)
    if dtypes.kind_of(x.dtype) == "i":
        return lax.lt(x, scalar(0, x))
    signed = np.dtype(f"int{x.dtype.itemsize * 8}")
    bits = lax.bitcast_convert_type(x, signed)
    return lax.lt(bits, signed.type(0))


def copysign(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``|x|`` with the sign of ``y``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.copysign(jnp.array([1.0, 2.0]), jnp.array([-1.0, 1.0]))
        Array([-1.,  2.], dtype=float32)
    """
    x, y = promote_inexact("copysign", x, y)
    if x.dtype.kind == "c":
        raise TypeError(f"copysign is not defined for complex numbers, got {x.dtype.name}.")
    return pick(signbit(y), lax.neg(lax.abs(x)), lax.abs(x))


def floor(x: ArrayLike, /) -> Array:
    """Largest integer not above ``x``; integers keep their dtype.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.floor(jnp.array([1.7, -1.2]))
        Array([ 1., -2.], dtype=float32)
    """
    x = as_operand("floor", x)
    return x if dtypes.kind_of(x.dtype) in "iub" else lax.floor(x)


def ceil(x: ArrayLike, /) -> Array:
    """Smallest integer not below ``x``; integers keep their dtype.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ceil(jnp.array([1.2, -1.2]))
        Array([ 2., -1.], dtype=float32)
    """
    x = as_operand("ceil", x)
    return x if dtypes.kind_of(x.dtype) in "iub" else lax.ceil(x)


def trunc(x: ArrayLike) -> Array:
    """``x`` rounded towards zero.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.trunc(jnp.array([1.7, -1.7]))
        Array([ 1., -1.], dtype=float32)
    """
    x = as_operand("trunc", x)
    if dtypes.kind_of(x.dtype) in "iub":
        return x
    return pick(lax.lt(x, scalar(0, x)), lax.ceil(x), lax.floor(x))


def rint(x: ArrayLike, /) -> Array:
    """Nearest integer, halves to the even one.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.rint(jnp.array([0.5, 1.5]))
        Array([0., 2.], dtype=float32)
    """
    x = as_operand("rint", x)
    if dtypes.kind_of(x.dtype) in "biu":
        return converted(x, dtypes.canonicalize(float))
    if x.dtype.kind == "c":
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, 1)


def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """``a`` rounded to a number of decimals, halves to even.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.array([0.5, 1.5, 2.5]))
        Array([0., 2., 2.], dtype=float32)
    """
    reject_out("round", out)
    x = as_operand("round", a)
    if x.dtype == BOOL:
        raise ValueError("round: bools have no digits; convert them with .astype first.")
    if dtypes.is_integer(x.dtype):
        if decimals < 0:
            raise NotImplementedError(
                "round: integers have no digits to round for decimals < 0; convert them with .astype(float)."
            )
        return x
    if x.dtype.kind == "c":
        return lax.complex(round(lax.real(x), decimals), round(lax.imag(x), decimals))
    if decimals == 0:
        return lax.round(x, 1)
    narrow = x.dtype
    wide = converted(x, dtypes.FLOAT32) if narrow.itemsize < 4 else x
    factor = scalar(10.0**decimals, wide)
    return converted(lax.div(lax.round(lax.mul(wide, factor), 1), factor), narrow)


around = round


def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The next representable number after ``x`` towards ``y``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nextafter(jnp.float32(1), jnp.float32(2)) > 1
        Array(True, dtype=bool)
    """
    x, y = promote_inexact("nextafter", x, y)
    return lax.nextafter(x, y)


def spacing(x: ArrayLike, /) -> Array:
    """Distance from ``x`` to the next representable number away from zero.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.spacing(jnp.float32(1.0))
        Array(1.1920929e-07, dtype=float32)
    """
    x = to_inexact("spacing", x)
    away = pick(signbit(x), scalar(-np.inf, x), scalar(np.inf, x))
    return lax.sub(lax.nextafter(x, away), x)


def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Fractional and integral part, both with the sign of ``x``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.modf(jnp.array([1.5, -2.25]))
        (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    reject_out("modf", out)
    x = to_inexact("modf", x)
    whole = trunc(x)
    fraction = pick(
        lax.eq(lax.abs(x), scalar(np.inf, x)), copysign(scalar(0, x), x), lax.sub(x, whole)
    )
    return fraction, whole


def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """``x1 * 2**x2``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ldexp(jnp.array([1.0, 1.5]), jnp.array([2, 3]))
        Array([ 4., 12.], dtype=float32)
    """
    mantissa, exponent = as_operand("ldexp", x1), as_operand("ldexp", x2)
    if mantissa.dtype.kind == "c" or dtypes.kind_of(exponent.dtype) not in "biu":
        raise ValueError(
            f"ldexp takes real numbers and integer exponents, got {mantissa.dtype.name} and {exponent.dtype.name}."
        )
    if exponent.dtype == BOOL:
        exponent = converted(exponent, dtypes.INT32)
    mantissa, exponent = broadcast_ranks("ldexp", [to_inexact("ldexp", mantissa), exponent])
    # Two steps: the power alone may overflow or underflow although the product does not.
    first = lax.div(exponent, scalar(2, exponent))
    second = lax.sub(exponent, first)
    for part in (first, second):
        mantissa = lax.mul(mantissa, lax.exp2(converted(part, mantissa.dtype)))
    return mantissa


def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Mantissa in [0.5, 1) and exponent of 2, with ``x = mantissa * 2**exponent``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.frexp(jnp.array([8.0, 3.0]))
        (Array([0.5 , 0.75], dtype=float32), Array([4, 2], dtype=int32))
    """
    x = to_inexact("frexp", x)
    info = limits(x.dtype)
    width = x.dtype.itemsize * 8
    unsigned = np.dtype(f"uint{width}")
    tiny = lax.lt(lax.abs(x), scalar(info.tiny, x))
    scaled = pick(tiny, lax.mul(x, scalar(2.0**info.nmant, x)), x)
    bits = lax.bitcast_convert_type(scaled, unsigned)
    field = unsigned.type((1 << info.nexp) - 1)
    exponent = converted(
        lax.bitwise_and(lax.shift_right_logical(bits, unsigned.type(info.nmant)), field),
        dtypes.INT32,
    )
    bias = np.int32((1 << (info.nexp - 1)) - 2)
    exponent = lax.sub(exponent, pick(tiny, np.int32(bias + info.nmant), np.int32(bias)))
    # x / 2**exponent in two steps: a single factor may be out of range. The derivative is that of a
    # division.
    least = lax.shift_right_arithmetic(lax.neg(exponent), np.int32(1))
    mantissa = x
    for power in (least, lax.sub(lax.neg(exponent), least)):
        biased = converted(lax.add(power, np.int32(bias + 1)), unsigned)
        factor = lax.bitcast_convert_type(
            lax.shift_left(biased, unsigned.type(info.nmant)), x.dtype
        )
        mantissa = lax.mul(mantissa, factor)
    plain = lax.bitwise_or(lax.bitwise_not(lax.is_finite(x)), lax.eq(x, scalar(0, x)))
    return pick(plain, x, mantissa), pick(plain, np.int32(0), exponent)
