"""Functions of complex numbers, from real ones.

IREE 3.13 expands the complex operations by formulas that overflow (the magnitude of 3e38 is infinite), that reduce no arguments, and that
have no special values: ``exp(inf + 0j)`` has an imaginary part of nan. The rules here follow the C standard, as the array API standard
does. complex64 is computed in float64, where no square of a float32 overflows or underflows; sines and cosines are those of float32, whose
arguments are reduced with all digits. On Vulkan, which has no float64, it is computed in float32.

Reference:
    ISO/IEC 9899:2011 (C11), annex G.6 (special values).
    W. Kahan, "Branch cuts for complex elementary functions", 1987 (tangents, and inverse functions of complex128).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from plugjax import lax
from plugjax.contexts import enable_x64
from plugjax.extend.core import ClosedJaxpr, Primitive, ShapedArray
from plugjax.extend.dtypes import FLOAT32, FLOAT64
from plugjax.extend.rules import RuleSet, lowering
from plugjax.extend.transforms import stage
from plugjax.lax import arithmetic, exponential, trigonometric
from plugjax.stablehlo.arithmetic import integer_pow
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import elementwise, stretched
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering import division, small_numbers
from plugjax_iree.lowering.hardware import has_float64

rules = RuleSet(__name__)

Real: TypeAlias = Any
Parts: TypeAlias = tuple[Real, Real]
Formula: TypeAlias = Callable[..., Any]
"""Of the parts of operands, in the dtype that it computes in, and their own dtype."""

_LARGE = 20.0
"""From here on the hyperbolic tangent is 1, and sine and cosine are half the exponential, in float64."""


def _where(flags: Any, x: Real, y: Real) -> Real:
    dtype = (y if isinstance(x, float) else x).dtype
    return lax.select(
        flags, *(lax.full_like(flags, v, dtype) if isinstance(v, float) else v for v in (x, y))
    )


def _number(like: Real, value: float) -> Any:
    """A number to compare with."""
    return like.dtype.type(value)


def _copysign(x: Real, sign: Real) -> Real:
    bits = np.dtype(f"int{8 * sign.dtype.itemsize}")
    negative = lax.lt(lax.bitcast_convert_type(sign, bits), bits.type(0))
    return lax.select(negative, lax.neg(lax.abs(x)), lax.abs(x))


def _is_nan(x: Real) -> Any:
    return lax.ne(x, x)


def _infinite(x: Real) -> Any:
    return lax.eq(lax.abs(x), _number(x, math.inf))


def _turn(x: Real, narrow: np.dtype) -> Parts:
    """Cosine and sine."""
    angle = lax.convert_element_type(x, narrow)
    cosine, sine = (lax.convert_element_type(f(angle), x.dtype) for f in (lax.cos, lax.sin))
    return cosine, sine


def _magnitude(a: Real, b: Real) -> Real:
    """Without overflow."""
    a, b = lax.abs(a), lax.abs(b)
    large, small = lax.max(a, b), lax.min(a, b)
    ratio = small / _where(lax.eq(large, _number(large, 0)), 1.0, large)
    found = large * lax.sqrt(1.0 + ratio * ratio)
    return _where(lax.bitwise_or(_infinite(a), _infinite(b)), math.inf, found)


def _abs(a: Real, b: Real, narrow: np.dtype) -> Real:
    return _magnitude(a, b)


def _exp(a: Real, b: Real, narrow: np.dtype) -> Parts:
    cosine, sine = _turn(b, narrow)
    # An infinite angle has no direction; the length of the result is known.
    lost = lax.bitwise_and(_infinite(a), lax.bitwise_not(lax.is_finite(b)))
    one = lax.full_like(cosine, 1.0)
    vanishes = lax.lt(a, _number(a, 0))
    cosine = lax.select(lost, one, cosine)
    sine = lax.select(lax.bitwise_and(lost, vanishes), one, sine)
    # In two halves: exp(a) may overflow where the product does not.
    half = lax.exp(a * 0.5)
    imag = _where(lax.eq(b, _number(b, 0)), b, (half * sine) * half)
    return (half * cosine) * half, imag


def _expm1(a: Real, b: Real, narrow: np.dtype) -> Parts:
    real, imag = _exp(a, b, narrow)
    cosine, _ = _turn(b, narrow)
    _, half = _turn(b * 0.5, narrow)
    near = lax.expm1(a) * cosine - 2.0 * half * half
    small = lax.lt(lax.abs(a), _number(a, 1))
    return lax.select(small, near, real - 1.0), imag


def _log(a: Real, b: Real, narrow: np.dtype) -> Parts:
    plain = lax.log(_magnitude(a, b))
    if a.dtype != narrow:
        # The squares are exact: nothing is lost near the unit circle.
        plain = _where(lax.is_finite(plain), 0.5 * lax.log(a * a + b * b), plain)
    elif narrow == np.float32:
        large, small = lax.max(lax.abs(a), lax.abs(b)), lax.min(lax.abs(a), lax.abs(b))
        near = 0.5 * lax.log1p((large - 1.0) * (large + 1.0) + small * small)
        plain = lax.select(lax.lt(lax.abs(plain), _number(plain, 0.5)), near, plain)
    return plain, lax.atan2(b, a)


def _log1p(a: Real, b: Real, narrow: np.dtype) -> Parts:
    far, angle = _log(1.0 + a, b, narrow)
    near = 0.5 * lax.log1p(a * (2.0 + a) + b * b)
    small = lax.bitwise_and(lax.gt(a, _number(a, -0.5)), lax.lt(lax.abs(a), _number(a, 1)))
    small = lax.bitwise_and(small, lax.lt(lax.abs(b), _number(b, 1)))
    return lax.select(small, near, far), angle


def _sqrt(a: Real, b: Real, narrow: np.dtype) -> Parts:
    # The halves are added: their sum cannot overflow.
    long = lax.sqrt(lax.abs(a) * 0.5 + _magnitude(a, b) * 0.5)
    short = lax.abs(b) / (2.0 * _where(lax.eq(long, _number(long, 0)), 1.0, long))
    right = lax.ge(a, _number(a, 0))
    real, imag = lax.select(right, long, short), lax.select(right, short, long)
    real, imag = (_where(_is_nan(a), lax.full_like(a, math.nan), v) for v in (real, imag))
    unbounded = _infinite(b)
    real, imag = (_where(unbounded, math.inf, v) for v in (real, imag))
    return real, _copysign(imag, b)


def _hyperbolic(a: Real, b: Real, narrow: np.dtype) -> tuple[Real, Real, Real, Real]:
    """Products of cosine and sine of ``b`` with hyperbolic cosine and sine of ``a``: cos cosh, sin sinh, cos sinh, sin cosh."""
    cosine, sine = _turn(b, narrow)
    size = lax.abs(a)
    half = lax.exp(size * 0.5)
    up, down = lax.expm1(size), lax.expm1(lax.neg(size))
    beyond = lax.gt(size, _number(size, _LARGE))
    cosh, sinh = (up + down) * 0.5 + 1.0, (up - down) * 0.5

    def product(x: Real, y: Real) -> Real:
        return lax.select(beyond, (half * 0.5 * x) * half, x * y)

    sign = _copysign(lax.full_like(a, 1.0), a)
    # The length is infinite; an infinite angle leaves the direction open.
    lost = lax.bitwise_and(_infinite(a), lax.bitwise_not(lax.is_finite(b)))
    cos_at = lax.select(lost, lax.full_like(cosine, 1.0), cosine)
    still, flat = lax.eq(b, _number(b, 0)), lax.eq(a, _number(a, 0))
    sin_sinh = sign * product(sine, sinh)
    turned = sign * _copysign(lax.full_like(b, 1.0), lax.select(still, b, sine))
    sin_sinh = lax.select(lax.bitwise_or(still, flat), 0.0 * turned, sin_sinh)
    cos_sinh = _where(flat, _copysign(a, a * cos_at), sign * product(cos_at, sinh))
    sin_cosh = _where(still, b, product(sine, cosh))
    return product(cos_at, cosh), sin_sinh, cos_sinh, sin_cosh


def _cosh(a: Real, b: Real, narrow: np.dtype) -> Parts:
    real, imag, _, _ = _hyperbolic(a, b, narrow)
    return real, imag


def _sinh(a: Real, b: Real, narrow: np.dtype) -> Parts:
    _, _, real, imag = _hyperbolic(a, b, narrow)
    return real, imag


def _tanh(a: Real, b: Real, narrow: np.dtype) -> Parts:
    cosine, sine = _turn(b, narrow)
    size = lax.abs(a)
    down = lax.expm1(-2.0 * size)
    # sinh 2a / (cosh 2a + cos 2b) and sin 2b / (cosh 2a + cos 2b), both multiplied by 2 exp(-2a).
    decay = down + 1.0
    below = down * down + 4.0 * decay * cosine * cosine
    real = lax.neg(down) * (decay + 1.0) / below
    imag = 4.0 * decay * sine * cosine / below
    known = lax.bitwise_or(lax.is_finite(b), _infinite(a))
    beyond = lax.bitwise_and(lax.gt(size, _number(size, _LARGE)), known)
    real = _where(beyond, 1.0, real)
    lost = lax.bitwise_and(_infinite(a), lax.bitwise_not(lax.is_finite(b)))
    imag = _where(lost, lax.full_like(b, 0.0), imag)
    return _where(lax.eq(a, _number(a, 0)), a, _copysign(real, a)), _where(
        lax.eq(b, _number(b, 0)), b, imag
    )


def _atanh(a: Real, b: Real, narrow: np.dtype) -> Parts:
    size = lax.abs(a)
    far = 1.0 - size
    real = 0.25 * lax.log1p(4.0 * size / (far * far + b * b))
    imag = 0.5 * lax.atan2(2.0 * b, far * (1.0 + size) - b * b)
    unbounded = lax.bitwise_or(_infinite(a), _infinite(b))
    real = _where(unbounded, 0.0, real)
    real = _where(lax.eq(a, _number(a, 0)), a, _copysign(real, a))
    known = lax.bitwise_and(unbounded, lax.bitwise_not(_is_nan(b)))
    right = lax.full_like(b, math.pi / 2)
    return real, _where(known, _copysign(right, b), imag)


def _turned(formula: Formula) -> Formula:
    """``-i f(iz)``: the trigonometric function beside a hyperbolic one."""

    def found(a: Real, b: Real, narrow: np.dtype) -> Parts:
        real, imag = formula(lax.neg(b), a, narrow)
        return imag, lax.neg(real)

    return found


def _cos(a: Real, b: Real, narrow: np.dtype) -> Parts:
    return _cosh(lax.neg(b), a, narrow)


def _exp2(a: Real, b: Real, narrow: np.dtype) -> Parts:
    return _exp(a * math.log(2), b * math.log(2), narrow)


def _div(a: Real, b: Real, c: Real, d: Real, narrow: np.dtype) -> Parts:
    """``(a + ib) / (c + id)``, of parts whose squares are numbers of the dtype."""
    one, zero = lax.full_like(c, 1.0), lax.full_like(c, 0.0)
    if a.dtype == narrow:
        size = lax.max(lax.abs(c), lax.abs(d))
        usual = lax.bitwise_and(lax.gt(size, zero), lax.is_finite(size))
        a, b, c, d = (lax.select(usual, v / size, v) for v in (a, b, c, d))
    square = c * c + d * d
    # An infinite divisor is replaced by its direction, and the quotient multiplied by 0. A divisor of 0 is real.
    far = lax.bitwise_and(_infinite(square), _finite(a, b))
    c, d = (lax.select(far, _copysign(lax.select(_infinite(v), one, zero), v), v) for v in (c, d))
    real, imag = a * c + b * d, b * c - a * d
    nothing = lax.bitwise_and(lax.eq(square, zero), lax.bitwise_not(_is_nan(a + b)))
    large = _copysign(lax.full_like(c, math.inf), c)
    # An infinite dividend gives an infinite quotient.
    grows = lax.bitwise_and(lax.bitwise_not(_finite(a, b)), _finite(c, d))
    x, y = (_copysign(lax.select(_infinite(v), one, zero), v) for v in (a, b))
    real, imag = (
        lax.select(
            nothing,
            large * whole,
            lax.select(far, zero * part, lax.select(grows, math.inf * inner, part / square)),
        )
        for whole, part, inner in ((a, real, x * c + y * d), (b, imag, y * c - x * d))
    )
    return real, imag


def _logistic(a: Real, b: Real, narrow: np.dtype) -> Parts:
    """``1 / (1 + exp(-z))``, or ``exp(z) / (1 + exp(z))`` to the left of the imaginary axis: no exponential overflows."""
    left = lax.lt(a, _number(a, 0))
    real, imag = _exp(lax.neg(lax.abs(a)), lax.select(left, b, lax.neg(b)), narrow)
    above = (_where(left, real, lax.full_like(a, 1.0)), _where(left, imag, lax.full_like(b, 0.0)))
    return _div(*above, 1.0 + real, imag, narrow)


def _power(a: Real, b: Real, c: Real, d: Real, narrow: np.dtype) -> Parts:
    """``exp(y log x)``; the power 0 of all numbers is 1."""
    length, angle = _log(a, b, narrow)
    real, imag = _exp(c * length - d * angle, d * length + c * angle, narrow)
    none = lax.bitwise_and(lax.eq(c, _number(c, 0)), lax.eq(d, _number(d, 0)))
    return _where(none, 1.0, real), _where(none, 0.0, imag)


def _finite(x: Real, y: Real) -> Any:
    return lax.bitwise_and(lax.is_finite(x), lax.is_finite(y))


# The angles of numbers with two infinite parts.
_EIGHTH = math.pi / 4


def _diagonal(a: Real, direction: float) -> Real:
    """An eighth of a turn to the right, three to the left of the imaginary axis."""
    left = lax.lt(a, _number(a, 0))
    return lax.select(left, lax.full_like(a, 3 * direction), lax.full_like(a, direction))


def _asinh_far(a: Real, b: Real) -> Parts:
    return a, _copysign(lax.full_like(b, _EIGHTH), b)


def _asin_far(a: Real, b: Real) -> Parts:
    return _copysign(lax.full_like(a, _EIGHTH), a), b


def _acos_far(a: Real, b: Real) -> Parts:
    return _diagonal(a, _EIGHTH), lax.neg(b)


def _acosh_far(a: Real, b: Real) -> Parts:
    return lax.abs(a), _copysign(_diagonal(a, _EIGHTH), b)


def _around(a: Real, b: Real, narrow: np.dtype) -> tuple[Parts, Parts]:
    """The square roots of ``1 - z`` and ``1 + z``."""
    return _sqrt(1.0 - a, lax.neg(b), narrow), _sqrt(1.0 + a, b, narrow)


def _asin_near(a: Real, b: Real, narrow: np.dtype) -> Parts:
    below, above = _around(a, b, narrow)
    real = lax.atan2(a, below[0] * above[0] - below[1] * above[1])
    return real, lax.asinh(below[0] * above[1] - below[1] * above[0])


def _acos_near(a: Real, b: Real, narrow: np.dtype) -> Parts:
    below, above = _around(a, b, narrow)
    imag = lax.asinh(above[0] * below[1] - above[1] * below[0])
    return 2.0 * lax.atan2(below[0], above[0]), imag


def _acosh_near(a: Real, b: Real, narrow: np.dtype) -> Parts:
    left, right = _sqrt(a - 1.0, b, narrow), _sqrt(a + 1.0, b, narrow)
    real = lax.asinh(left[0] * right[0] + left[1] * right[1])
    return real, 2.0 * lax.atan2(left[1], right[0])


def _asinh_near(a: Real, b: Real, narrow: np.dtype) -> Parts:
    real, imag = _asin_near(lax.neg(b), a, narrow)
    return imag, lax.neg(real)


def _corrected(far: Callable[[Real, Real], Parts], near: Formula) -> Formula:
    """The second number, which IREE computes, except where both parts of the operand are infinite; of finite complex128 numbers the formula ``near``."""

    def formula(a: Real, b: Real, x: Real, y: Real, narrow: np.dtype) -> Parts:
        if narrow == FLOAT64:
            exact = near(a, b, narrow)
            x, y = (lax.select(_finite(a, b), *two) for two in zip(exact, (x, y), strict=True))
        both = lax.bitwise_and(_infinite(a), _infinite(b))
        real, imag = far(a, b)
        return lax.select(both, real, x), lax.select(both, imag, y)

    return formula


@functools.cache
def _program(formula: Formula, aval: ShapedArray, wide: np.dtype, count: int = 1) -> ClosedJaxpr:
    narrow = np.dtype(f"float{4 * aval.dtype.itemsize}")

    def run(*operands: Any) -> list[Any]:
        read = [part(z) for z in operands for part in (lax.real, lax.imag)]
        found = formula(*(lax.convert_element_type(x, wide) for x in read), narrow)
        found = found if isinstance(found, tuple) else (found,)
        parts = [lax.convert_element_type(x, narrow) for x in found]
        return parts if len(parts) == 1 else [lax.complex(*parts)]

    with enable_x64(True):
        return stage(run, [aval] * count, "complex")


def _computed(
    ctx: EqnContext, formula: Formula, aval: ShapedArray, operands: Sequence[Value]
) -> Value:
    wide = FLOAT64 if has_float64(ctx) or aval.dtype == np.complex128 else FLOAT32
    (found,) = ctx.inline(_program(formula, aval, wide, len(operands)), operands)
    return found


def on_complex(formula: Formula) -> Callable[[EqnContext, Value], Value]:
    """The lowering of a function of a complex number."""

    def lower(ctx: EqnContext, x: Value) -> Value:
        return _computed(ctx, formula, ctx.avals_in[0], [x])

    return lower


def corrected(
    operation: str, far: Callable[[Real, Real], Parts], near: Formula
) -> Callable[[EqnContext, Value], Value]:
    """The lowering of a function of a complex number that IREE computes, where not both parts are infinite."""
    general, formula = elementwise(operation), _corrected(far, near)

    def lower(ctx: EqnContext, x: Value) -> Value:
        return _computed(ctx, formula, ctx.avals_in[0], [x, general(ctx, x)])

    return lower


def _define(
    primitive: Primitive, real: Callable[..., Value], plane: Callable[[EqnContext, Value], Value]
) -> None:
    """Lower a function of real numbers, and of complex ones."""

    @rules.define(lowering, primitive, platform="iree")
    def rule(ctx: EqnContext, x: Value, **params: Any) -> Value:
        return plane(ctx, x) if ctx.avals_in[0].dtype.kind == "c" else real(ctx, x, **params)


_define(arithmetic.abs_p, elementwise("stablehlo.abs"), on_complex(_abs))
_define(exponential.exp_p, elementwise("stablehlo.exponential"), on_complex(_exp))
_define(exponential.expm1_p, small_numbers.expm1, on_complex(_expm1))
_define(exponential.log1p_p, small_numbers.log1p, on_complex(_log1p))
_define(exponential.sqrt_p, elementwise("stablehlo.sqrt"), on_complex(_sqrt))
_define(exponential.logistic_p, elementwise("stablehlo.logistic"), on_complex(_logistic))
_define(trigonometric.sinh_p, small_numbers.sinh, on_complex(_sinh))
_define(trigonometric.cosh_p, elementwise("chlo.cosh"), on_complex(_cosh))
_define(trigonometric.tanh_p, elementwise("stablehlo.tanh"), on_complex(_tanh))
_define(trigonometric.atanh_p, small_numbers.atanh, on_complex(_atanh))
_define(
    trigonometric.asinh_p, small_numbers.asinh, corrected("chlo.asinh", _asinh_far, _asinh_near)
)
_define(
    trigonometric.acosh_p, small_numbers.acosh, corrected("chlo.acosh", _acosh_far, _acosh_near)
)


@rules.define(lowering, arithmetic.div_p, platform="iree")
def _div_rule(ctx: EqnContext, *operands: Value) -> Value:
    (out,) = ctx.avals_out
    if out.dtype.kind != "c":
        return division.quotient(ctx, *operands)
    return _computed(ctx, _div, out, stretched(ctx, operands))


@rules.define(lowering, arithmetic.integer_pow_p, platform="iree")
def _integer_pow_rule(ctx: EqnContext, x: Value, *, y: int) -> Value:
    (out,) = ctx.avals_out
    if out.dtype.kind != "c" or y >= 0:
        return integer_pow(ctx, x, y=y)
    operands = [ctx.constant(1, out), integer_pow(ctx, x, y=-y)]
    return _computed(ctx, _div, out, operands)


def power(ctx: EqnContext, x: Value, y: Value) -> Value:
    """The lowering of a power of a complex number."""
    (out,) = ctx.avals_out
    return _computed(ctx, _power, out, stretched(ctx, (x, y)))


exp2, log = on_complex(_exp2), on_complex(_log)
sin, cos, tan = on_complex(_turned(_sinh)), on_complex(_cos), on_complex(_turned(_tanh))
atan = on_complex(_turned(_atanh))
asin = corrected("chlo.asin", _asin_far, _asin_near)
acos = corrected("chlo.acos", _acos_far, _acos_near)
