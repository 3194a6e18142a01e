"""Sums, products, quotients, powers, extrema and complex parts, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, aval_of
from plugjax.extend.dtypes import BOOL, DType
from plugjax.extend.execution import eager_program
from plugjax.lax.families import scalar as own_scalar
from plugjax.lax.promotion import content
from plugjax.numpy.logic import greater, less
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    check_arraylike,
    convert,
    converted,
    pick,
    promote_args,
    promote_inexact,
    promote_numeric,
    same_dtype,
    scalar,
    to_inexact,
)

__all__ = [
    "abs", "absolute", "add", "angle", "conj", "conjugate", "divide", "divmod", "fabs", "float_power",
    "floor_divide", "fmax", "fmin", "fmod", "heaviside", "hypot", "imag", "maximum", "minimum", "mod",
    "multiply", "negative", "positive", "pow", "power", "real", "reciprocal", "remainder", "sign", "sqrt",
    "square", "subtract", "true_divide",
]  # fmt: skip


@eager_program(2)
def add(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Sum, ``x + y``; for bools the disjunction.

    Shapes:
        x, y: broadcast together -> ``[...]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.add(jnp.arange(3), 0.5)
        Array([0.5, 1.5, 2.5], dtype=float32, weak_type=True)
    """
    x, y = promote_args("add", x, y)
    return lax.bitwise_or(x, y) if x.dtype == BOOL else lax.add(x, y)


@eager_program(2)
def subtract(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Difference, ``x - y``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.subtract(jnp.arange(3), 1)
        Array([-1,  0,  1], dtype=int32)
    """
    x, y = promote_args("subtract", x, y)
    return lax.sub(x, y)


@eager_program(2)
def multiply(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Product, ``x * y``; for bools the conjunction.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.multiply(jnp.arange(3), 2)
        Array([0, 2, 4], dtype=int32)
    """
    x, y = promote_args("multiply", x, y)
    return lax.bitwise_and(x, y) if x.dtype == BOOL else lax.mul(x, y)


def true_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Quotient, ``x / y``, inexact.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.true_divide(jnp.arange(3), 2)
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = promote_inexact("true_divide", x, y)
    return lax.div(x, y)


divide = true_divide


def floor_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Quotient rounded down, ``x // y``.

    Differs from NumPy:
        An integer divided by zero is -1, without a warning.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.floor_divide(jnp.array([7, -7]), 2)
        Array([ 3, -4], dtype=int32)
    """
    x, y = promote_numeric("floor_divide", x, y)
    kind = dtypes.kind_of(x.dtype)
    if kind == "u":
        return lax.div(x, y)
    if kind == "i":
        quotient = lax.div(x, y)
        uneven = lax.bitwise_and(
            lax.ne(lax.sign(x), lax.sign(y)), lax.ne(lax.rem(x, y), scalar(0, x))
        )
        return pick(uneven, lax.sub(quotient, own_scalar(1, x)), quotient)
    if kind == "c":
        raise TypeError("floor_divide takes real numbers: complex ones have no floor.")
    return _float_divmod(x, y)[0]


def remainder(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Remainder of :func:`floor_divide`, with the sign of ``y``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.remainder(jnp.array([7, -7]), 3)
        Array([1, 2], dtype=int32)
    """
    x, y = promote_numeric("remainder", x, y)
    zero = scalar(0, x)
    if dtypes.kind_of(x.dtype) in "iu":
        y = pick(lax.eq(y, zero), own_scalar(1, x), y)
    trunc_mod = lax.rem(x, y)
    adjust = lax.bitwise_and(
        lax.ne(lax.lt(trunc_mod, zero), lax.lt(y, zero)), lax.ne(trunc_mod, zero)
    )
    return pick(adjust, lax.add(trunc_mod, y), trunc_mod)


mod = remainder


def fmod(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Remainder with the sign of ``x``, as in C.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fmod(jnp.array([7, -7]), 3)
        Array([ 1, -1], dtype=int32)
    """
    x, y = promote_numeric("fmod", x, y)
    if dtypes.kind_of(x.dtype) in "iu":
        y = pick(lax.eq(y, scalar(0, x)), own_scalar(1, x), y)
    return lax.rem(x, y)


def divmod(x: ArrayLike, y: ArrayLike, /) -> tuple[Array, Array]:
    """Quotient rounded down, and the remainder.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.divmod(jnp.array([7]), 2)
        (Array([3], dtype=int32), Array([1], dtype=int32))
    """
    x, y = promote_numeric("divmod", x, y)
    if dtypes.kind_of(x.dtype) in "iu":
        return floor_divide(x, y), remainder(x, y)
    return _float_divmod(x, y)


def _float_divmod(x: Array, y: Array) -> tuple[Array, Array]:
    # As in Python's float.__divmod__, the quotient is computed from the difference to the
    # remainder.
    zero = scalar(0, x)
    mod = lax.rem(x, y)
    quotient = lax.div(pick(lax.eq(y, zero), x, lax.sub(x, mod)), y)
    adjust = lax.bitwise_and(lax.ne(mod, zero), lax.ne(lax.sign(y), lax.sign(mod)))
    mod = pick(adjust, lax.add(mod, y), mod)
    quotient = pick(adjust, lax.sub(*promote_args("divmod", quotient, 1.0)), quotient)
    return lax.round(quotient), mod


def power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``x ** y``. A Python integer as exponent multiplies instead of taking logarithms.

    Differs from NumPy:
        Array exponents of integers count modulo 64.

    Raises:
        TypeError: an integer to a negative Python integer.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.power(jnp.arange(4), 2)
        Array([0, 1, 4, 9], dtype=int32)
    """
    exponent = y if type(y) is int else _known_integer(y)
    if exponent is not None:
        x = as_operand("power", x)
        return lax.integer_pow(converted(x, _number(x)), exponent)
    check_arraylike("power", x, y)
    x, y = content(x), content(y)
    kinds = dtypes.kind_of(aval_of(x).dtype), dtypes.kind_of(aval_of(y).dtype)
    # A Python scalar to the power of integers has their weak type.
    strong = not aval_of(y).weak_type and (
        (kinds[0] in "fc" and kinds[1] in "iu") or (kinds[0] in "iu" and kinds[1] == "b")
    )
    x, y = promote_numeric("power", x, y)
    found = _integer_power(x, y) if dtypes.kind_of(x.dtype) in "iu" else lax.pow(x, y)
    return convert(found, found.dtype) if strong else found


pow = power


def _known_integer(y: Any) -> int | None:
    """A bool, or an integer without axes, whose value is known."""
    if type(y) is Array and y.aval.shape:
        return None
    if isinstance(y, (bool, np.integer)):
        return int(y)
    known = (type(y) is Array or isinstance(y, np.ndarray)) and not y.ndim
    return int(y) if known and dtypes.is_integer(y.dtype) else None


def _number(x: Array) -> DType:
    return dtypes.INT32 if x.dtype == BOOL else x.dtype


def _integer_power(x: Array, y: Array) -> Array:
    # Repeated squaring over six bits, as in JAX: exponents count modulo 64, which is visible for
    # negative ones.
    one, zero = scalar(1, x), scalar(0, x)
    result = pick(lax.bitwise_and(lax.eq(x, zero), lax.ne(y, zero)), zero, one)
    base, rest = x, y
    for _ in range(6):
        odd = lax.ne(lax.bitwise_and(rest, one), zero)
        result = pick(odd, lax.mul(result, base), result)
        base = lax.mul(base, base)
        rest = lax.shift_right_logical(rest, one)
    return result


def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``x ** y``, inexact.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.float_power(jnp.array([1, 2]), 2)
        Array([1., 4.], dtype=float32)
    """
    x, y = promote_inexact("float_power", x, y)
    return lax.pow(x, y)


def square(x: ArrayLike, /) -> Array:
    """Square, ``x * x``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.square(jnp.array([2, 3]))
        Array([4, 9], dtype=int32)
    """
    x = as_operand("square", x)
    return lax.square(converted(x, _number(x)))


def sqrt(x: ArrayLike, /) -> Array:
    """Square root; nan for negative reals.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.sqrt(jnp.array([4.0, 9.0]))
        Array([2., 3.], dtype=float32)
    """
    return lax.sqrt(to_inexact("sqrt", x))


def reciprocal(x: ArrayLike, /) -> Array:
    """``1 / x``, inexact.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.reciprocal(jnp.array([2.0, 4.0]))
        Array([0.5 , 0.25], dtype=float32)
    """
    return lax.integer_pow(to_inexact("reciprocal", x), -1)


def negative(x: ArrayLike, /) -> Array:
    """``-x``."""
    return lax.neg(as_operand("negative", x))


def positive(x: ArrayLike, /) -> Array:
    """``x`` unchanged.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.positive(jnp.array([1, -1]))
        Array([ 1, -1], dtype=int32)
    """
    return as_operand("positive", x)


def abs(x: ArrayLike, /) -> Array:
    """Absolute value; real for complex ``x``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.abs(jnp.array([-1.0, 2.0]))
        Array([1., 2.], dtype=float32)
    """
    x = as_operand("abs", x)
    unsigned = dtypes.kind_of(x.dtype) in "ub"
    return x if unsigned else lax.abs(x)


absolute = abs


def fabs(x: ArrayLike, /) -> Array:
    """Absolute value of real numbers, inexact.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fabs(jnp.array([-1.5, 2.0]))
        Array([1.5, 2. ], dtype=float32)
    """
    x = to_inexact("fabs", x)
    if x.dtype.kind == "c":
        raise TypeError("fabs does not accept complex numbers; abs does.")
    return lax.abs(x)


def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1; ``x / |x|`` for complex ``x``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.sign(jnp.array([-2.0, 0.0, 3.0]))
        Array([-1.,  0.,  1.], dtype=float32)
    """
    return lax.sign(as_operand("sign", x))


def heaviside(x: ArrayLike, y: ArrayLike, /) -> Array:
    """0 below zero, ``y`` at zero, 1 above.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.heaviside(jnp.array([-1.0, 0.0, 1.0]), 0.5)
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = same_dtype("heaviside", x, y, inexact=True)
    if x.dtype.kind == "c":
        raise TypeError(f"heaviside is not defined for complex numbers, got {x.dtype.name}.")
    zero = scalar(0, x)
    step = pick(lax.lt(x, zero), zero, pick(lax.gt(x, zero), scalar(1, x), y))
    return pick(lax.ne(x, x), x, step)


def hypot(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``sqrt(x**2 + y**2)`` without overflow.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.hypot(jnp.array([3.0]), jnp.array([4.0]))
        Array([5.], dtype=float32)
    """
    x, y = promote_inexact("hypot", x, y)
    if x.dtype.kind == "c":
        raise ValueError(
            "hypot is a function of real numbers; take real or imag of complex ones first."
        )
    x, y = lax.abs(x), lax.abs(y)
    larger, smaller = lax.max(x, y), lax.min(x, y)
    at_zero = lax.eq(larger, scalar(0, larger))
    ratio = lax.div(smaller, pick(at_zero, scalar(1, larger), larger))
    length = lax.mul(larger, lax.sqrt(lax.add(lax.square(ratio), scalar(1, larger))))
    infinite = lax.bitwise_or(lax.eq(x, scalar(np.inf, x)), lax.eq(y, scalar(np.inf, y)))
    return pick(infinite, scalar(np.inf, larger), pick(at_zero, larger, length))


@eager_program(2)
def maximum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The larger of two; nan if either is nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.maximum(jnp.array([-1.0, 2.0]), 0)
        Array([0., 2.], dtype=float32)
    """
    x, y = promote_args("maximum", x, y)
    return lax.max(x, y)


@eager_program(2)
def minimum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The smaller of two; nan if either is nan."""
    x, y = promote_args("minimum", x, y)
    return lax.min(x, y)


def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The larger of two; the other one if one is nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0.5)
        Array([1. , 0.5], dtype=float32)
    """
    x, y = promote_args("fmax", x1, x2)
    return pick(lax.bitwise_or(greater(x, y), lax.ne(y, y)), x, y)


def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The smaller of two; the other one if one is nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fmin(jnp.array([1.0, jnp.nan]), 0.5)
        Array([0.5, 0.5], dtype=float32)
    """
    x, y = promote_args("fmin", x1, x2)
    return pick(lax.bitwise_or(less(x, y), lax.ne(y, y)), x, y)


def real(val: ArrayLike, /) -> Array:
    """Real part.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.real(jnp.array([1 + 2j]))
        Array([1.], dtype=float32)
    """
    x = as_operand("real", val)
    return lax.real(x) if x.dtype.kind == "c" else x


def imag(val: ArrayLike, /) -> Array:
    """Imaginary part; zeros for real numbers.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.imag(jnp.array([1 + 2j]))
        Array([2.], dtype=float32)
    """
    x = as_operand("imag", val)
    return lax.imag(x) if x.dtype.kind == "c" else lax.full_like(x, 0)


def conjugate(x: ArrayLike, /) -> Array:
    """Complex conjugate; real numbers are unchanged.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.conjugate(jnp.array([1 + 2j]))
        Array([1.-2.j], dtype=complex64)
    """
    x = as_operand("conjugate", x)
    return lax.conj(x) if x.dtype.kind == "c" else x


conj = conjugate


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Argument of a complex number, in radians; in degrees if ``deg``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.angle(jnp.array([1j, -1.0]), deg=True), 3)
        Array([ 90., 180.], dtype=float32)
    """
    z = as_operand("angle", z)
    if dtypes.kind_of(z.dtype) in "biu" or (z.dtype.kind != "c" and z.ndim == 0):
        z = converted(z, dtypes.canonicalize(float))
    if z.dtype.kind == "c":
        phase = lax.atan2(lax.imag(z), lax.real(z))
    else:
        phase = lax.atan2(lax.full_like(z, 0), z)
    phase = convert(phase, phase.dtype)
    return lax.mul(phase, scalar(180 / np.pi, phase)) if deg else phase
