"""Remainders on Vulkan, where the driver subtracts a rounded multiple of the divisor: of 1e19 by 3 it leaves -1.7e11.

A float32 is an integer of 24 bits times a power of two. The powers are divided out step by step, in integers, as by hand. All results are
exact.
"""

from __future__ import annotations

import math

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import FLOAT64, INT32, is_float
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.arithmetic import rem_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import elementwise
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.wide import Wide, computed_wide, has_float64

rules = RuleSet(__name__)

_GENERAL = elementwise("stablehlo.remainder")
_MANTISSA = 23
# A remainder has 24 bits, and so many more fit into a positive int32.
_STEP = 7
_LARGEST_DIFFERENCE = 253


def remainder(w: Wide, x: Value, y: Value) -> Value:
    """What is left of x, with its sign, after whole multiples of y, in float32."""
    aval = ShapedArray(w.aval.shape, INT32)

    def integer(name: str, a: Value, b: Value | int) -> Value:
        b = w.ctx.constant(b, aval) if isinstance(b, int) else b
        return w.op(name, a, b, aval=aval)

    def split(a: Value) -> tuple[Value, Value]:
        bits = w.op("bitcast_convert", a, aval=aval)
        mantissa = integer("or", integer("and", bits, (1 << _MANTISSA) - 1), 1 << _MANTISSA)
        return mantissa, integer("shift_right_logical", bits, _MANTISSA)

    size, divisor = w.op("abs", x), w.op("abs", y)
    (left, above), (modulus, below) = split(size), split(divisor)
    left = integer("remainder", left, modulus)
    difference = integer("maximum", integer("subtract", above, below), 0)
    for _ in range(-(-_LARGEST_DIFFERENCE // _STEP)):
        step = integer("minimum", difference, _STEP)
        left = integer("remainder", integer("shift_left", left, step), modulus)
        difference = integer("subtract", difference, step)
    # The unit of the divisor's last place, in two factors: it may be smaller than a float32.
    unit = w.op("bitcast_convert", integer("shift_left", below, _MANTISSA))
    found = w.op("multiply", w.op("multiply", w.op("convert", left), w.number(2.0**-_MANTISSA)), unit)  # fmt: skip
    found = w.where(w.is_("LT", size, divisor), size, found)
    defined = w.both(w.is_("LT", size, w.number(math.inf)), w.is_("GT", divisor, w.number(0.0)))
    return w.negated_where(w.is_negative(x), w.where(defined, found, w.nan()))


@rules.define(lowering, rem_p, platform="iree")
def _remainder_rule(ctx: EqnContext, *operands: Value) -> Value:
    (out,) = ctx.avals_out
    if has_float64(ctx) or not is_float(out.dtype) or out.dtype == FLOAT64:
        return _GENERAL(ctx, *operands)
    return computed_wide(ctx, remainder, *operands)
