"""Remainders on Vulkan, where the driver subtracts a rounded multiple of the divisor: that of 1e10 by 3 is 0 there, not 1.

A float32 is an integer of 24 bits times a power of two. The powers are divided out step by step, in integers, as by hand. All results are
exact. Those of integers are taken without signs: IREE gives what is left of the smallest integer the wrong one.
"""

from __future__ import annotations

import math

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import FLOAT64, INT32, is_float
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.arithmetic import rem_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.elementwise import elementwise, stretched
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.hardware import has_float64, on_vulkan
from plugjax_iree.lowering.integers import MANTISSA, Integers
from plugjax_iree.lowering.wide import Wide, computed_wide

rules = RuleSet(__name__)

_GENERAL = elementwise("stablehlo.remainder")
# A remainder has 24 bits, and so many more fit into a positive int32.
_STEP = 7
_LARGEST_DIFFERENCE = 253
_SIGNED = tuple(np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))


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


def _signed_remainder(ctx: EqnContext, x: Value, y: Value) -> Value:
    """What is left of a signed integer x, with its sign, after whole multiples of y; x itself if y is 0."""
    (out,) = ctx.avals_out
    if out.dtype.itemsize < INT32.itemsize:
        # IREE divides no narrow unsigned numbers there.
        wide = ShapedArray(out.shape, INT32)
        left = mlir.value("stablehlo.remainder", wide, [convert(a, out, INT32) for a in (x, y)])
        return convert(left, wide, out.dtype)
    unsigned = ShapedArray(out.shape, np.dtype(f"u{out.dtype}"))
    sizes = [
        mlir.value("stablehlo.bitcast_convert", unsigned, [mlir.value("stablehlo.abs", out, [a])])
        for a in (x, y)
    ]
    left = mlir.value("stablehlo.remainder", unsigned, sizes)
    found = mlir.value("stablehlo.bitcast_convert", out, [left])
    is_negative = compare("LT", out, x, ctx.constant(0, out))
    negated = mlir.value("stablehlo.negate", out, [found])
    return mlir.value("stablehlo.select", out, [is_negative, negated, found])


@rules.define(lowering, rem_p, platform="iree")
def _remainder_rule(ctx: EqnContext, *operands: Value) -> Value:
    (out,) = ctx.avals_out
    if on_vulkan(ctx) and out.dtype in _SIGNED:
        return _signed_remainder(ctx, *stretched(ctx, operands))
    if has_float64(ctx) or not is_float(out.dtype) or out.dtype == FLOAT64:
        return _GENERAL(ctx, *operands)
    return computed_wide(ctx, remainder, *operands)
