"""Special functions: ``erf_inv`` with the bits of XLA, on which ``random.normal`` rests; ``digamma``, ``zeta``, ``polygamma`` and ``erf`` near poles and zeros.

IREE's own expansion of ``chlo.erf_inv`` differs from XLA's in 1.95 % of the arguments that ``random.normal`` uses, by up to
2 ulp, because LLVM decides by itself where to contract a product and a sum. Here every fused step is spelled out in float64,
where the product of two float32 is exact, and no other step can be fused: a ``maximum(v, -1)`` that never acts stands between
a product that is rounded and the sum that follows it. Compared with XLA over all 2**23 arguments: no difference.

Reference:
    M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2012 (the polynomials in ``w``).
    S. Moshier, Cephes Mathematical Library (the logarithm).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.special import digamma_p, erf_inv_p, erf_p, polygamma_p, zeta_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.exponential import power
from plugjax_iree.lowering.hardware import has_float64
from plugjax_iree.lowering.trigonometric import tangent
from plugjax_iree.lowering.wide import Wide, define_wide

rules = RuleSet(__name__)


def _floats(words: str) -> list[np.float32]:
    """Float32 numbers from their bit patterns, highest power first."""
    return [np.uint32(int(word, 16)).view(np.float32) for word in words.split()]


_CENTRE = _floats(
    "32F16588 34B84B36 B66C7357 B6935AC1 396532DB BAA45408 BB88E4EF 3E7C8F63 3FC02E2F"
)
_TAIL = _floats("B951F09B 38D3B56B 3AB0DC72 BB70BDE7 3BBC127B BBF9C5D7 3C1AA57E 3F8036DB 40354F7E")
_NUMERATOR = _floats("383DE04B 3EFF40C5 40D284FA 41EF4B9C 4273CC76 426473AD 41A05101")
_DENOMINATOR = _floats("3F800000 417101AD 42A6185B 435DC32D 439A8CA3 43586D8A 42707982")
_LOG_HIGH = _floats("3D9021BB BDEBD1B8 3DEF251A")
_LOG_MIDDLE = _floats("BDFE5D4F 3E11E9BF BE2AAE50")
_LOG_LOW = _floats("3E4CCEAC BE7FFFFC 3EAAAAAA")
_LOG2_HIGH, _LOG2_LOW, _SQRT_HALF, _LOG1P_RANGE = _floats("3F318000 B95E8083 3F3504F3 3ED413CD")


class _Float32:
    """Arithmetic on float32 values of one shape, with every rounding explicit."""

    def __init__(self, ctx: EqnContext, shape: tuple[int, ...]) -> None:
        self.ctx = ctx
        self.narrow = ShapedArray(shape, np.float32)
        self.wide = ShapedArray(shape, np.float64 if has_float64(ctx) else np.float32)
        self.integer = ShapedArray(shape, np.int32)
        self.boolean = ShapedArray(shape, np.bool_)

    def number(self, value: Any) -> Value:
        return self.ctx.constant(value, self.narrow)

    def op(self, name: str, *operands: Value, aval: ShapedArray | None = None) -> Value:
        return mlir.value(f"stablehlo.{name}", aval or self.narrow, operands)

    def widen(self, x: Value) -> Value:
        return x if self.wide is self.narrow else self.op("convert", x, aval=self.wide)

    def mul(self, x: Value, y: Value) -> Value:
        """A product that is rounded."""
        product = self.op("multiply", self.widen(x), self.widen(y), aval=self.wide)
        return self.op("convert", product)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """``x * y + z`` in one rounding."""
        product = self.op("multiply", self.widen(x), self.widen(y), aval=self.wide)
        return self.op("convert", self.op("add", product, self.widen(z), aval=self.wide))

    def fence(self, x: Value) -> Value:
        """``x``, which is above -1, kept apart from the sum that follows."""
        return self.op("maximum", x, self.number(-1.0))

    def horner(self, coefficients: Sequence[Any], x: Value) -> Value:
        """A polynomial, highest power first."""
        y = self.number(coefficients[0])
        for c in coefficients[1:]:
            y = self.fma(y, x, self.number(c))
        return y

    def less(self, x: Value, y: Value, direction: str = "LT") -> Value:
        attributes = {
            "comparison_direction": mlir.attribute(f"#stablehlo<comparison_direction {direction}>"),
            "compare_type": mlir.attribute("#stablehlo<comparison_type FLOAT>"),
        }
        return mlir.value("stablehlo.compare", self.boolean, [x, y], attributes)

    def select(self, pred: Value, on_true: Value, on_false: Value) -> Value:
        return self.op("select", pred, on_true, on_false)


def _log1p(f: _Float32, z: Value) -> Value:
    """``log(1 + z)`` for z in [-1, 0]."""
    square = f.mul(z, z)
    ratio = f.op("divide", f.horner(_NUMERATOR, z), f.horner(_DENOMINATOR, z))
    cubic = f.fence(f.mul(f.mul(z, square), ratio))
    half_square = f.op("multiply", square, f.number(0.5))
    small = f.op("add", z, f.op("subtract", cubic, half_square))

    bits = f.op("bitcast_convert", f.op("add", z, f.number(1.0)), aval=f.integer)
    shift = f.ctx.constant(23, f.integer)
    exponent = f.op("shift_right_logical", bits, shift, aval=f.integer)
    exponent = f.op("subtract", exponent, f.ctx.constant(126, f.integer), aval=f.integer)
    mantissa = f.op("and", bits, f.ctx.constant(0x007FFFFF, f.integer), aval=f.integer)
    mantissa = f.op("or", mantissa, f.ctx.constant(0x3F000000, f.integer), aval=f.integer)
    m = f.op("bitcast_convert", mantissa)
    below = f.less(m, f.number(_SQRT_HALF))
    zero, one = f.number(0.0), f.number(1.0)
    e = f.op("subtract", f.op("convert", exponent), f.select(below, one, zero))
    x = f.op("add", f.op("subtract", m, one), f.select(below, m, zero))
    x2 = f.mul(x, x)
    x3 = f.mul(x2, x)
    r = f.horner(_LOG_HIGH, x)
    r = f.fma(r, x3, f.horner(_LOG_MIDDLE, x))
    r = f.fma(r, x3, f.horner(_LOG_LOW, x))
    r = f.fma(r, x3, f.fence(f.mul(e, f.number(_LOG2_LOW))))
    r = f.op("add", f.op("subtract", x, f.op("multiply", x2, f.number(0.5))), r)
    large = f.fma(e, f.number(_LOG2_HIGH), r)
    return f.select(f.less(f.op("abs", z), f.number(_LOG1P_RANGE)), small, large)


def _erf_inv_float32(f: _Float32, x: Value) -> Value:
    z = f.fence(f.mul(x, f.op("negate", x)))
    w = f.op("negate", _log1p(f, z))
    central = f.less(w, f.number(5.0))
    s = f.select(
        central,
        f.op("subtract", w, f.number(2.5)),
        f.op("subtract", f.op("sqrt", w), f.number(3.0)),
    )
    p = f.select(central, f.number(_CENTRE[0]), f.number(_TAIL[0]))
    for c, t in zip(_CENTRE[1:], _TAIL[1:], strict=True):
        p = f.fma(p, s, f.select(central, f.number(c), f.number(t)))
    result = f.mul(p, x)
    magnitude, one = f.op("abs", x), f.number(1.0)
    infinite = f.op("multiply", x, f.number(np.inf))
    result = f.select(f.less(magnitude, one, "EQ"), infinite, result)
    return f.select(f.less(magnitude, one, "GT"), f.number(np.nan), result)


@rules.define(lowering, erf_inv_p, platform="iree")
def _erf_inv(ctx: EqnContext, x: Value) -> Value:
    (aval,) = ctx.avals_out
    if aval.dtype == np.float64:
        return mlir.value("chlo.erf_inv", aval, [x])
    f = _Float32(ctx, aval.shape)
    if aval.dtype == np.float32:
        return _erf_inv_float32(f, x)
    narrow = _erf_inv_float32(f, mlir.value("stablehlo.convert", f.narrow, [x]))
    return mlir.value("stablehlo.convert", aval, [narrow])


def _digamma(w: Wide, x: Value) -> Value:
    """By reflection below 1/2; the poles are nan.

    IREE's own reflection takes sine and cosine in float32: near poles up to twice the value is lost.
    """
    left = w.is_("LT", x, w.number(0.5))
    right = mlir.value(
        "chlo.digamma", w.aval, [w.where(left, w.op("subtract", w.number(1.0), x), x)]
    )
    beyond = w.op("subtract", x, w.op("round_nearest_even", x))
    angle = w.op("multiply", beyond, w.number(math.pi))
    cotangent = w.op("divide", w.number(math.pi), tangent(w, angle))
    reflected = w.op("subtract", right, cotangent)
    is_pole = w.either(w.is_("EQ", beyond, w.number(0.0)), w.is_("EQ", x, w.number(-math.inf)))
    reflected = w.where(is_pole, w.nan(), reflected)
    return w.where(left, reflected, right)


define_wide(rules, digamma_p, "chlo.digamma", _digamma)

# The Bernoulli numbers B(2), B(4), ..., as the Euler-Maclaurin formula has them: divided by (2k)!.
_BERNOULLI = [
    number / math.factorial(2 * k)
    for k, number in enumerate(
        [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510], 1
    )
]
_STEPS = 16


def _zeta(w: Wide, x: Value, q: Value) -> Value:
    """Hurwitz' zeta function, by some terms and the Euler-Maclaurin formula for the others.

    IREE's own has no powers of negative numbers: of negative ``q`` it is nan.
    """
    zero, one, exponent = w.number(0.0), w.number(1.0), w.op("negate", x)
    place, last = q, power(w, q, exponent)
    total = last
    for _ in range(_STEPS - 1):
        place = w.op("add", place, one)
        last = power(w, place, exponent)
        total = w.op("add", total, last)
    rest = w.op("divide", w.op("multiply", place, last), w.op("subtract", x, one))
    rest = w.op("subtract", rest, w.op("multiply", last, w.number(0.5)))
    factor, square = (
        w.op("divide", w.op("multiply", x, last), place),
        w.op("multiply", place, place),
    )
    for k, number in enumerate(_BERNOULLI):
        rest = w.op("add", rest, w.op("multiply", w.number(number), factor))
        below, above = (w.op("add", x, w.number(2.0 * k + i)) for i in (1, 2))
        factor = w.op("divide", w.op("multiply", w.op("multiply", factor, below), above), square)
    found = w.op("add", total, w.where(w.is_("EQ", last, zero), zero, rest))
    # Negative numbers have whole powers alone; at poles those that are not even have two signs.
    halved, left = w.op("multiply", x, w.number(0.5)), w.is_("LE", q, zero)
    even, pole = w.is_("EQ", w.op("floor", halved), halved), w.is_("EQ", w.op("floor", q), q)
    broken = w.is_("NE", w.op("floor", x), x)
    found = w.where(w.both(left, pole), w.where(even, w.number(math.inf), w.nan()), found)
    found = w.where(w.either(w.both(left, broken), w.is_("LT", x, one)), w.nan(), found)
    return w.where(w.is_("EQ", x, one), w.number(math.inf), found)


def _polygamma(w: Wide, m: Value, x: Value) -> Value:
    """``(-1)**(m + 1) m! zeta(m + 1, x)``."""
    zero, one = w.number(0.0), w.number(1.0)
    following, halved = w.op("add", m, one), w.op("multiply", m, w.number(0.5))
    factorial = w.op("exponential", mlir.value("chlo.lgamma", w.aval, [following]))
    found = w.op("multiply", factorial, _zeta(w, following, x))
    found = w.negated_where(w.is_("EQ", w.op("floor", halved), halved), found)
    found = w.where(w.is_("EQ", m, zero), _digamma(w, x), found)
    broken = w.either(w.is_("LT", m, zero), w.is_("NE", w.op("floor", m), m))
    return w.where(broken, w.nan(), found)


define_wide(rules, zeta_p, "chlo.zeta", _zeta)
define_wide(rules, polygamma_p, "chlo.polygamma", _polygamma)

_ERF_SLOPE = 2 / math.sqrt(math.pi)


@rules.define(lowering, erf_p, platform="iree")
def _erf(ctx: EqnContext, x: Value) -> Value:
    # IREE's expansion takes float32 numbers up to 7e-37 for zero.
    (aval,) = ctx.avals_out
    inside = ShapedArray(aval.shape, np.float64 if aval.dtype == np.float64 else np.float32)
    x = mlir.value("stablehlo.convert", inside, [x])
    found = mlir.value("chlo.erf", inside, [x])
    straight = mlir.value("stablehlo.multiply", inside, [x, ctx.constant(_ERF_SLOPE, inside)])
    # erf(x) = 2 x (1 - x**2 / 3 + O(x**4)) / sqrt(pi)
    limit = ctx.constant(math.sqrt(np.finfo(inside.dtype).eps) / 2, inside)
    near = compare("LT", inside, mlir.value("stablehlo.abs", inside, [x]), limit)
    found = mlir.value("stablehlo.select", inside, [near, straight, found])
    return mlir.value("stablehlo.convert", aval, [found])
