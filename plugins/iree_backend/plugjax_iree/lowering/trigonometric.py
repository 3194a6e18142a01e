"""Sine, cosine and tangent of large arguments.

IREE 3.13 reduces float32 arguments in float32 (measured absolute errors of the sine: 2.6e-4 at 1e4, 0.23 at 1e7, 1111 at
3e8). Here the reduction is done in float64 with as many digits of 2/pi as the largest float32 needs.

Reference:
    M. Payne, R. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983.
    FreeBSD msun, ``k_sinf.c`` and ``k_cosf.c`` (the polynomials; errors below 2**-34).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from plugjax.core import Primitive, RuleSet, ShapedArray, lowering
from plugjax.core.dtypes import BOOL, FLOAT32, FLOAT64, INT32
from plugjax.lax import trigonometric as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo import trigonometric as stablehlo
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.elementwise import elementwise
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

_TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041
"""The first 192 bits of 2/pi, the first of them worth 1/2."""
_BITS = 192
_CHUNK = 29


def _chunks() -> list[float]:
    """2/pi as a sum of 29 bits each, whose products with a float32 are exact, and a rest."""
    rest, found = Fraction(_TWO_OVER_PI, 1 << _BITS), []
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


class _Angle:
    """An angle as a number of quarter turns and a rest of at most an eighth turn."""

    def __init__(self, ctx: EqnContext, x: Value, aval: ShapedArray) -> None:
        self.ctx = ctx
        self.wide = ShapedArray(aval.shape, FLOAT64)
        self.integer = ShapedArray(aval.shape, INT32)
        self.x = convert(x, aval, FLOAT64)
        magnitude = self.op("abs", self.x)
        turns, *smaller = [self.op("multiply", magnitude, self.number(c)) for c in _chunks()]
        total = self.op("subtract", turns, self.fours(turns))
        for turns in smaller[:-1]:
            total = self.op("add", total, self.op("subtract", turns, self.fours(turns)))
        total = self.op("add", total, smaller[-1])
        # Whole turns are gone from all but the last term, which is below 2**12.
        quarter = self.op("round_nearest_even", total)
        self.quarter = self.op("convert", quarter, aval=self.integer)
        rest = self.op("subtract", total, quarter)
        self.rest = self.op("multiply", rest, self.number(math.pi / 2))
        square = self.op("multiply", self.rest, self.rest)
        self.sine = self.op("multiply", self.rest, self.polynomial(square, _SINE))
        self.cosine = self.polynomial(square, _COSINE)

    def number(self, value: float) -> Value:
        return self.ctx.constant(value, self.wide)

    def op(self, name: str, *operands: Value, aval: ShapedArray | None = None) -> Value:
        return mlir.value(f"stablehlo.{name}", aval or self.wide, operands)

    def fours(self, turns: Value) -> Value:
        """The greatest multiple of 4 quarter turns that is not above; exact."""
        whole = self.op("floor", self.op("multiply", turns, self.number(0.25)))
        return self.op("multiply", whole, self.number(4.0))

    def polynomial(self, square: Value, coefficients: Sequence[float]) -> Value:
        """1 + c0 x + c1 x**2 + ..."""
        y = self.number(coefficients[-1])
        for c in (*coefficients[-2::-1], 1.0):
            y = self.op("add", self.op("multiply", y, square), self.number(c))
        return y

    def has_bit(self, number: Value, bit: int) -> Value:
        masked = self.op("and", number, self.ctx.constant(bit, self.integer), aval=self.integer)
        return compare("NE", self.integer, masked, self.ctx.constant(0, self.integer))

    def negated_where(self, flags: Value, y: Value) -> Value:
        return self.op("select", flags, self.op("negate", y), y)

    def odd(self, y: Value) -> Value:
        """The value at x, from the one at ``abs(x)``, of an odd function; -0.0 included."""
        sign = ShapedArray(self.wide.shape, np.dtype(np.int64))
        bits = self.op("bitcast_convert", self.x, aval=sign)
        return self.negated_where(compare("LT", sign, bits, self.ctx.constant(0, sign)), y)

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
        finite = self.op("is_finite", self.x, aval=ShapedArray(self.wide.shape, BOOL))
        return self.op("select", finite, y, self.number(math.nan))


def _define(
    primitive: Primitive, default: Callable[..., Value], function: Callable[[_Angle], Value]
) -> None:
    @rules.define(lowering, primitive, platform="iree")
    def rule(ctx: EqnContext, x: Value) -> Value:
        (aval,) = ctx.avals_in
        if aval.dtype.kind == "c" or aval.dtype == FLOAT64:
            return default(ctx, x)
        angle = _Angle(ctx, x, aval)
        y = mlir.value(
            "stablehlo.convert", ShapedArray(aval.shape, FLOAT32), [angle.defined(function(angle))]
        )
        return convert(y, ShapedArray(aval.shape, FLOAT32), aval.dtype)


_define(lax.sin_p, stablehlo.sin, _Angle.sin)
_define(lax.cos_p, stablehlo.cos, _Angle.cos)
_define(lax.tan_p, elementwise("stablehlo.tan"), _Angle.tan)
