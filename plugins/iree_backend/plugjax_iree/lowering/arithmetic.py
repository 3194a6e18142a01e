"""Remainders on Vulkan, where the driver subtracts a rounded multiple of the divisor: that of 1e10 by 3 is 0 there, not 1.

A float32 is an integer of 24 bits times a power of two. The powers are divided out step by step, in integers, as by hand. All results are
exact.
"""

from __future__ import annotations

import math

from plugjax.extend.dtypes import FLOAT64, is_float
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.arithmetic import rem_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering import division
from plugjax_iree.lowering.hardware import has_float64
from plugjax_iree.lowering.integers import MANTISSA, Integers
from plugjax_iree.lowering.wide import Wide, computed_wide

rules = RuleSet(__name__)

# A remainder has 24 bits, and so many more fit into a positive int32.
_STEP = 7
_LARGEST_DIFFERENCE = 253


def remainder(w: Wide, x: Value, y: Value) -> Value:
    """What is left of x, with its sign, after whole multiples of y, in float32."""
    z = Integers(w)
    size, divisor = w.op("abs", x), w.op("abs", y)
    (left, above), (modulus, below) = z.parts(size), z.parts(divisor)
    left = z.op("remainder", left, modulus)
    difference = z.op("maximum", z.op("subtract", above, below), 0)
    for _ in range(-(-_LARGEST_DIFFERENCE // _STEP)):
        step = z.op("minimum", difference, _STEP)
        left = z.op("remainder", z.left(left, step), modulus)
        difference = z.op("subtract", difference, step)
    # The unit of the divisor's last place, in two factors: it may be smaller than a float32.
    unit = w.op("bitcast_convert", z.left(below, MANTISSA))
    found = w.op("multiply", w.op("multiply", w.op("convert", left), w.number(2.0**-MANTISSA)), unit)  # fmt: skip
    found = w.where(w.is_("LT", size, divisor), size, found)
    defined = w.both(w.is_("LT", size, w.number(math.inf)), w.is_("GT", divisor, w.number(0.0)))
    return w.negated_where(w.is_negative(x), w.where(defined, found, w.nan()))


@rules.define(lowering, rem_p, platform="iree")
def _remainder_rule(ctx: EqnContext, *operands: Value) -> Value:
    (out,) = ctx.avals_out
    if has_float64(ctx) or not is_float(out.dtype) or out.dtype == FLOAT64:
        return division.remainder(ctx, *operands)
    return computed_wide(ctx, remainder, *operands)
