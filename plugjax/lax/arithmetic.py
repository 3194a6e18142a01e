"""Arithmetic primitives: sums, products, quotients, powers, signs, extrema and rounding."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Zero,
    add_any,
    add_any_p,
    aval_of,
    mul_p,
)
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.rules import RuleSet, jvp_rule, transpose_rule
from plugjax.extend.transforms import is_undefined_primal
from plugjax.lax import comparison
from plugjax.lax.complex import complex, conj, imag, real
from plugjax.lax.conversion import convert_element_type
from plugjax.lax.families import (
    ANY,
    FLOAT,
    INTEGER,
    NUMBER,
    REAL,
    SIGNED,
    convert,
    elementwise,
    linear,
    partials,
    scalar,
    stretch,
    unbroadcast,
)
from plugjax.lax.selection import select

rules = RuleSet(__name__)

neg_p = Primitive("neg")
add_p = Primitive("add")
sub_p = Primitive("sub")
div_p = Primitive("div")
rem_p = Primitive("rem")
integer_pow_p = Primitive("integer_pow")
square_p = Primitive("square")
max_p = Primitive("max")
min_p = Primitive("min")
abs_p = Primitive("abs")
sign_p = Primitive("sign")
floor_p = Primitive("floor")
ceil_p = Primitive("ceil")
round_p = Primitive("round")
nextafter_p = Primitive("nextafter")
mulhi_p = Primitive("mulhi")

_REAL_PART = {dtypes.COMPLEX64: dtypes.FLOAT32, dtypes.COMPLEX128: dtypes.FLOAT64}

for _p in (neg_p, add_p, sub_p, mul_p, div_p, integer_pow_p, square_p, add_any_p):
    elementwise(rules, _p, accepts=NUMBER)
elementwise(rules, rem_p, accepts=REAL)
for _p in (max_p, min_p):
    elementwise(rules, _p, accepts=ANY)
elementwise(rules, abs_p, accepts=SIGNED, result=lambda d: _REAL_PART.get(d, d))
elementwise(rules, sign_p, accepts=NUMBER, differentiable=False)
for _p in (floor_p, ceil_p, round_p):
    elementwise(rules, _p, accepts=FLOAT, differentiable=False)
elementwise(rules, nextafter_p, accepts=FLOAT)
rules.absent(
    jvp_rule, nextafter_p, because="the step to the next number has no derivative, as in JAX"
)
elementwise(rules, mulhi_p, accepts=INTEGER, differentiable=False)


class RoundingMethod(enum.IntEnum):
    """The treatment of halves by :func:`round`."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def neg(x: ArrayLike) -> Array:
    """Elementwise negation, ``-x``.

    Shapes:
        x: ``[...]``, numeric -> ``[...]``, same dtype.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.neg(jnp.array([1, -2]))
        Array([-1,  2], dtype=int32)
    """
    return neg_p.bind(x)


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise sum. Operands have one dtype and one rank; axes of size 1 and scalars stretch.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.add(jnp.array([1, 2]), jnp.array([3, 4]))
        Array([4, 6], dtype=int32)
    """
    return add_p.bind(x, y)


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise difference; shapes as of :func:`add`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.sub(jnp.array([1, 4]), jnp.array([2, 3]))
        Array([-1,  1], dtype=int32)
    """
    return sub_p.bind(x, y)


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """Elementwise product; shapes as of :func:`add`.

    Args:
        x: array.
        y: array.
        out_dtype: operands are converted to it first, and may then have different dtypes.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.mul(jnp.array([1, 4]), jnp.array([2, 3]))
        Array([ 2, 12], dtype=int32)
    """
    if out_dtype is not None:
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return mul_p.bind(x, y)


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Elementwise upper half of the bits of the product of integers; shapes as of :func:`add`.

    Example:
        >>> import numpy as np
        >>> from plugjax import lax
        >>> lax.mulhi(np.int32(2**30), np.int32(8))
        Array(2, dtype=int32)
    """
    return mulhi_p.bind(x, y)


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise quotient; integers round towards zero. ``x / 0`` is -1 for integers, inf or nan for others.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.div(jnp.array([7, -7]), jnp.array([2, 2]))
        Array([ 3, -3], dtype=int32)
    """
    return div_p.bind(x, y)


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise remainder with the sign of ``x``; shapes as of :func:`add`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.rem(jnp.array([7, -7]), jnp.array([3, 3]))
        Array([ 1, -1], dtype=int32)
    """
    return rem_p.bind(x, y)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Elementwise power with a static integer exponent.

    Raises:
        TypeError: a negative exponent with integer ``x``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.integer_pow(jnp.array([2.0, 3.0]), 3)
        Array([ 8., 27.], dtype=float32)
    """
    if y < 0 and dtypes.is_integer(aval_of(x).dtype):
        raise TypeError(
            f"integer_pow: x ** {y} of integers is no integer. Convert x to float first."
        )
    if y == 1:
        return x  # type: ignore[return-value]  # as it came
    return integer_pow_p.bind(x, y=int(y))


def reciprocal(x: ArrayLike) -> Array:
    """Elementwise ``1 / x`` of inexact ``x``.

    Example:
        >>> from plugjax import lax
        >>> lax.reciprocal(4.0)
        Array(0.25, dtype=float32, weak_type=True)
    """
    return integer_pow(x, -1)


def square(x: ArrayLike) -> Array:
    """Elementwise square.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.square(jnp.array([2.0, 3.0]))
        Array([4., 9.], dtype=float32)
    """
    return square_p.bind(x)


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise maximum; nan if either is nan. The derivative at a tie is one half for each.

    Complex numbers are in lexicographic order. JAX gives the second operand where only the first one is a complex nan.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.max(jnp.array([1, 4]), jnp.array([2, 3]))
        Array([2, 4], dtype=int32)
    """
    return max_p.bind(x, y)


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise minimum; nan if either is nan. The derivative at a tie is one half for each.

    Complex numbers are in lexicographic order, see :func:`max`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.min(jnp.array([1, 4]), jnp.array([2, 3]))
        Array([1, 3], dtype=int32)
    """
    return min_p.bind(x, y)


def abs(x: ArrayLike) -> Array:
    """Elementwise absolute value; real for complex ``x``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.abs(jnp.array([-1, 2]))
        Array([1, 2], dtype=int32)
    """
    return abs_p.bind(x)


def sign(x: ArrayLike) -> Array:
    """Elementwise sign: -1, 0, 1, or nan; ``x / |x|`` for complex ``x``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.sign(jnp.array([-2.0, 0.0, 3.0]))
        Array([-1.,  0.,  1.], dtype=float32)
    """
    return sign_p.bind(x)


def floor(x: ArrayLike) -> Array:
    """Elementwise largest integer not above ``x``, as a float.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.floor(jnp.array([1.7, -1.2]))
        Array([ 1., -2.], dtype=float32)
    """
    return floor_p.bind(x)


def ceil(x: ArrayLike) -> Array:
    """Elementwise smallest integer not below ``x``, as a float.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.ceil(jnp.array([1.2, -1.2]))
        Array([ 2., -1.], dtype=float32)
    """
    return ceil_p.bind(x)


def round(
    x: ArrayLike, rounding_method: RoundingMethod | int = RoundingMethod.AWAY_FROM_ZERO
) -> Array:
    """Elementwise rounding; halves move away from zero, or to the even neighbour.

    Raises:
        ValueError: ``rounding_method`` is none.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.round(jnp.array([0.5, 1.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
        Array([0., 2.], dtype=float32)
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Elementwise next representable value after ``x1`` towards ``x2``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.nextafter(jnp.float32(1), jnp.float32(2)) > 1
        Array(True, dtype=bool)
    """
    return nextafter_p.bind(x1, x2)


@linear(rules, neg_p)
def _neg_transpose(y_bar: Any, x: Any) -> tuple[Any]:
    return (neg(y_bar),)


def _linear_in_both(primitive: Primitive, second: Any) -> None:
    """Derivative of ``x + y`` and ``x - y``: the same operation on tangents."""

    @rules.define(jvp_rule, primitive)
    def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        (x, y), (x_dot, y_dot) = primals, tangents
        z = primitive.bind(x, y)
        aval = aval_of(z)
        if type(x_dot) is Zero and type(y_dot) is Zero:
            return z, Zero(aval.to_tangent_aval())
        if type(y_dot) is Zero:
            return z, stretch(x_dot, aval)
        if type(x_dot) is Zero:
            return z, stretch(second(y_dot), aval)
        return z, primitive.bind(x_dot, y_dot)

    @rules.define(transpose_rule, primitive)
    def _transpose(z_bar: Any, x: Any, y: Any) -> tuple[Any, Any]:
        return (
            unbroadcast(z_bar, x.aval) if is_undefined_primal(x) else None,
            unbroadcast(second(z_bar), y.aval) if is_undefined_primal(y) else None,
        )


_linear_in_both(add_p, lambda t: t)
_linear_in_both(sub_p, neg)
_linear_in_both(add_any_p, lambda t: t)


@rules.define(jvp_rule, mul_p)
def _mul_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x, y), (x_dot, y_dot) = primals, tangents
    z = mul(x, y)
    aval = aval_of(z)
    z_dot: Any = Zero(aval.to_tangent_aval())
    if type(x_dot) is not Zero:
        z_dot = stretch(mul(x_dot, y), aval)
    if type(y_dot) is not Zero:
        z_dot = add_any(z_dot, stretch(mul(x, y_dot), aval))
    return z, z_dot


@rules.define(transpose_rule, mul_p)
def _mul_transpose(z_bar: Any, x: Any, y: Any) -> tuple[Any, Any]:
    if is_undefined_primal(x):
        return unbroadcast(mul(z_bar, y), x.aval), None
    return None, unbroadcast(mul(x, z_bar), y.aval)


@rules.define(jvp_rule, div_p)
def _div_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x, y), (x_dot, y_dot) = primals, tangents
    z = div(x, y)
    aval = aval_of(z)
    z_dot: Any = Zero(aval.to_tangent_aval())
    if type(x_dot) is not Zero:
        z_dot = stretch(div(x_dot, y), aval)
    if type(y_dot) is not Zero:
        z_dot = add_any(z_dot, stretch(mul(y_dot, neg(div(z, y))), aval))
    return z, z_dot


@rules.define(transpose_rule, div_p)
def _div_transpose(z_bar: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return unbroadcast(div(z_bar, y), x.aval), None


@partials(rules, integer_pow_p)
def _integer_pow_partials(z: Any, x: Any, *, y: int) -> tuple[Any]:
    if y == 0:
        return (None,)
    return (lambda: mul(scalar(y, x), integer_pow(x, y - 1)) if y != 2 else mul(scalar(2, x), x),)


@partials(rules, square_p)
def _square_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(2, x), x),)


@partials(rules, rem_p)
def _rem_partials(z: Any, x: Any, y: Any) -> tuple[Any, Any]:
    def by_y() -> Any:
        quotient = div(x, y)
        truncated = mul(sign(quotient), floor(abs(quotient)))
        return neg(truncated)

    aval = aval_of(z)
    return lambda: stretch(scalar(1, x), ShapedArray(aval.shape, aval.dtype)), by_y


def _extremum_partials(primitive: Primitive, wins: Callable[[Any, Any], Any]) -> None:
    @partials(rules, primitive)
    def _partials(z: Any, x: Any, y: Any) -> tuple[Any, Any]:
        def weight(own: Any, other: Any) -> Any:
            aval = aval_of(z)
            one, half, zero = (stretch(scalar(v, z), aval) for v in (1, 0.5, 0))
            better = _in_order(own, other, wins)
            return select(
                stretch(comparison.eq(own, other), aval_of(better)), half, select(better, one, zero)
            )

        return lambda: weight(x, y), lambda: weight(y, x)


def _in_order(x: Any, y: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """A comparison; lexicographic for complex numbers."""
    if aval_of(x).dtype.kind != "c":
        return compare(x, y)
    re_x, re_y = real(x), real(y)
    tie = comparison.bitwise_and(comparison.eq(re_x, re_y), compare(imag(x), imag(y)))
    return comparison.bitwise_or(compare(re_x, re_y), tie)


_extremum_partials(max_p, comparison.gt)
_extremum_partials(min_p, comparison.lt)


@rules.define(jvp_rule, abs_p)
def _abs_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    y = abs(x)
    if type(x_dot) is Zero:
        return y, Zero(aval_of(y).to_tangent_aval())
    if aval_of(x).dtype.kind == "c":
        # Not by sign(x), whose derivative counts as zero. At 0 the numerator is 0 already.
        length = add(y, convert(comparison.eq(y, scalar(0, y)), aval_of(y).dtype))
        return y, real(mul(x_dot, div(conj(x), complex(length, scalar(0, y)))))
    return y, select(comparison.ge(x, scalar(0, x)), x_dot, neg(x_dot))
