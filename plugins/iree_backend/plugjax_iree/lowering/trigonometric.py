"""Sine, cosine and tangent of large arguments, and angles.

IREE 3.13 reduces float32 arguments in float32 (measured absolute errors of the sine: 2.6e-4 at 1e4, 0.23 at 1e7, 1111 at
3e8). Here the reduction is done in float64, or in integers where there is none (`plugjax_iree.lowering.turns`), with as many digits of
2/pi as the largest float32 needs. Its arctangents err by 40 units in the last place of float32, and are nan at (0, 0) and where both operands are infinite.

Reference:
    M. Payne, R. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983.
    FreeBSD msun, ``k_sinf.c`` and ``k_cosf.c`` (the polynomials; errors below 2**-34).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from plugjax.extend.core import Primitive, ShapedArray
from plugjax.extend.dtypes import FLOAT32, FLOAT64, INT32
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import trigonometric as lax
from plugjax.stablehlo import trigonometric as stablehlo
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.elementwise import elementwise
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering import complex  # as of lax
from plugjax_iree.lowering.hardware import has_float64
from plugjax_iree.lowering.turns import TWO_OVER_PI, quarter_turns
from plugjax_iree.lowering.wide import Wide, define_wide

rules = RuleSet(__name__)

_CHUNK = 29


def _chunks() -> list[float]:
    """2/pi as a sum of 29 bits each, whose products with a float32 are exact, and a rest."""
    rest, found = Fraction(TWO_OVER_PI, 1 << TWO_OVER_PI.bit_length()), []
    for i in range(1, 5):
        unit = 1 << (_CHUNK * i)
        part = Fraction(math.floor(rest * unit), unit)
        found.append(float(part))
        rest -= part
    return [*found, float(rest)]


_SINE = (-0.166666666416265235595, 0.0083333293858894631756, -0.000198393348360966317347,
         0.0000027183114939898219064)  # fmt: skip
_COSINE = (-0.499999997251031003120, 0.0416666233237390631894, -0.00138867637746099294692,
           0.0000243904487962774090654)  # fmt: skip


# atan(sqrt z) / sqrt z on [0, tan(pi/8)**2], interpolated at Chebyshev's nodes; relative error 3e-18.
_ARCTANGENT = (
    1.0, -0.33333333333333326, 0.19999999999997015, -0.1428571428532971, 0.11111111085322109,
    -0.09090908059031191, 0.07692281099937744, -0.06666205259976526, 0.05876834004614161,
    -0.05217312574061591, 0.04499500728984032, -0.03338782450121195, 0.015113765096600925,
)  # fmt: skip


class _Angle(Wide):
    """An angle as a number of quarter turns and a rest of at most an eighth turn."""

    def __init__(self, ctx: EqnContext, x: Value, aval: ShapedArray) -> None:
        super().__init__(ctx, aval.shape)
        self.integer = ShapedArray(aval.shape, INT32)
        self.x = convert(x, aval, self.aval.dtype)
        magnitude = self.op("abs", self.x)
        reduced = self.reduced if has_float64(ctx) else partial(quarter_turns, self)
        self.quarter, self.rest = reduced(magnitude)
        square = self.op("multiply", self.rest, self.rest)
        self.sine = self.op("multiply", self.rest, self.polynomial(square, (1.0, *_SINE)))
        self.cosine = self.polynomial(square, (1.0, *_COSINE))

    def reduced(self, magnitude: Value) -> tuple[Value, Value]:
        """Quarter turns and the rest of positive angles, in float64."""
        turns, *smaller = [self.op("multiply", magnitude, self.number(c)) for c in _chunks()]
        total = self.op("subtract", turns, self.fours(turns))
        for turns in smaller[:-1]:
            total = self.op("add", total, self.op("subtract", turns, self.fours(turns)))
        total = self.op("add", total, smaller[-1])
        # Whole turns are gone from all but the last term, which is below 2**12.
        quarter = self.op("round_nearest_even", total)
        rest = self.op("multiply", self.op("subtract", total, quarter), self.number(math.pi / 2))
        return self.op("convert", quarter, aval=self.integer), rest

    def fours(self, turns: Value) -> Value:
        """The greatest multiple of 4 quarter turns that is not above; exact."""
        whole = self.op("floor", self.op("multiply", turns, self.number(0.25)))
        return self.op("multiply", whole, self.number(4.0))

    def has_bit(self, number: Value, bit: int) -> Value:
        masked = self.op("and", number, self.ctx.constant(bit, self.integer), aval=self.integer)
        return compare("NE", self.integer, masked, self.ctx.constant(0, self.integer))

    def odd(self, y: Value) -> Value:
        """The value at x, from the one at ``abs(x)``, of an odd function; -0.0 included."""
        return self.negated_where(self.is_negative(self.x), y)

    def sin(self) -> Value:
        y = self.op("select", self.has_bit(self.quarter, 1), self.cosine, self.sine)
        return self.odd(self.negated_where(self.has_bit(self.quarter, 2), y))

    def cos(self) -> Value:
        y = self.op("select", self.has_bit(self.quarter, 1), self.sine, self.cosine)
        following = self.op(
            "add", self.quarter, self.ctx.constant(1, self.integer), aval=self.integer
        )
        return self.negated_where(self.has_bit(following, 2), y)

    def tan(self) -> Value:
        beyond = self.has_bit(self.quarter, 1)
        above = self.op("select", beyond, self.cosine, self.sine)
        below = self.op("select", beyond, self.op("negate", self.sine), self.cosine)
        return self.odd(self.op("divide", above, below))

    def defined(self, y: Value) -> Value:
        """Nan for what is not finite, which has no angle."""
        finite = self.op("is_finite", self.x, aval=self.flags)
        return self.op("select", finite, y, self.number(math.nan))


def _define(
    primitive: Primitive,
    default: Callable[..., Value],
    on_complex: Callable[[EqnContext, Value], Value],
    function: Callable[[_Angle], Value],
) -> None:
    @rules.define(lowering, primitive, platform="iree")
    def rule(ctx: EqnContext, x: Value) -> Value:
        (aval,) = ctx.avals_in
        if aval.dtype.kind == "c":
            return on_complex(ctx, x)
        if aval.dtype == FLOAT64:
            return default(ctx, x)
        angle = _Angle(ctx, x, aval)
        y = convert(angle.defined(function(angle)), angle.aval, FLOAT32)
        return convert(y, ShapedArray(aval.shape, FLOAT32), aval.dtype)


def tangent(w: Wide, x: Value) -> Value:
    """The tangent."""
    return w.op("tan", x) if w.aval.dtype == FLOAT64 else _Angle(w.ctx, x, w.aval).tan()


_define(lax.sin_p, stablehlo.sin, complex.sin, _Angle.sin)
_define(lax.cos_p, stablehlo.cos, complex.cos, _Angle.cos)
_define(lax.tan_p, elementwise("stablehlo.tan"), complex.tan, _Angle.tan)


def angle(w: Wide, y: Value, x: Value) -> Value:
    """The angle of the point (x, y), in radians, as IEEE 754 defines ``atan2``."""
    across, up = w.op("abs", x), w.op("abs", y)
    steep = w.is_("GT", up, across)
    small, large = w.op("minimum", across, up), w.op("maximum", across, up)
    slope = w.op("divide", small, large)
    slope = w.where(w.is_("EQ", large, w.number(0.0)), w.number(0.0), slope)
    slope = w.where(w.is_("EQ", small, w.number(math.inf)), w.number(1.0), slope)
    found = _arctangent(w, slope)
    found = w.where(steep, w.op("subtract", w.number(math.pi / 2), found), found)
    found = w.where(w.is_negative(x), w.op("subtract", w.number(math.pi), found), found)
    return w.negated_where(w.is_negative(y), found)


def _arctangent(w: Wide, slope: Value) -> Value:
    """Of a slope between 0 and 1."""
    one = w.number(1.0)
    above = w.is_("GT", slope, w.number(math.tan(math.pi / 8)))
    turned = w.op("divide", w.op("subtract", slope, one), w.op("add", slope, one))
    rest = w.where(above, turned, slope)
    series = w.polynomial(w.op("multiply", rest, rest), _ARCTANGENT)
    found = w.op("multiply", rest, series)
    return w.op("add", w.where(above, w.number(math.pi / 4), w.number(0.0)), found)


def _cathetus(w: Wide, x: Value) -> Value:
    """The other side of a right triangle with one side ``x`` and hypotenuse 1."""
    one = w.number(1.0)
    return w.op("sqrt", w.op("multiply", w.op("subtract", one, x), w.op("add", one, x)))


define_wide(rules, lax.atan2_p, "stablehlo.atan2", angle)
define_wide(
    rules,
    lax.atan_p,
    "chlo.atan",
    lambda w, x: angle(w, x, w.number(1.0)),
    on_complex=complex.atan,
)
define_wide(
    rules,
    lax.asin_p,
    "chlo.asin",
    lambda w, x: angle(w, x, _cathetus(w, x)),
    on_complex=complex.asin,
)
define_wide(
    rules,
    lax.acos_p,
    "chlo.acos",
    lambda w, x: angle(w, _cathetus(w, x), x),
    on_complex=complex.acos,
)
