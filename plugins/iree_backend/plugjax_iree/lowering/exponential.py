"""Powers, roots and logarithms.

IREE 3.13 computes ``x ** y`` as ``exp(y log x)``: nan for every negative ``x``, for ``0 ** 0`` and ``inf ** 0``, with errors of 75 units in
the last place of float32 (``2 ** x`` 64). Its cube root of infinity is nan, and it has none of float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax.extend.dtypes import FLOAT64
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.exponential import cbrt_p, exp2_p, log_p, pow_p
from plugjax.stablehlo import exponential as stablehlo
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import elementwise
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering import complex  # as of lax
from plugjax_iree.lowering.wide import Wide, computed_wide, define_wide

rules = RuleSet(__name__)


def power(w: Wide, x: Value, y: Value) -> Value:
    """``x ** y`` as IEEE 754 defines ``pow``."""
    zero, one, half = w.number(0.0), w.number(1.0), w.number(0.5)
    magnitude = w.op("abs", x)
    power = w.op("exponential", w.op("multiply", y, w.op("log", magnitude)))
    # The logarithm of 1 is 0, and 0 * inf would be nan: a power of 1 is 1 for every exponent.
    power = w.where(w.is_("EQ", magnitude, one), one, power)
    whole = w.is_("EQ", w.op("floor", y), y)
    halved = w.op("multiply", y, half)
    odd = w.both(whole, w.is_("NE", w.op("floor", halved), halved))
    power = w.negated_where(w.both(odd, w.is_negative(x)), power)
    negative = w.both(w.is_("LT", x, zero), w.is_("GT", x, w.number(-math.inf)))
    defined = w.either(whole, w.op("not", negative, aval=w.flags))
    power = w.where(defined, power, w.nan())
    # A nan to the power of 0, and 1 to the power of nan.
    return w.where(w.either(w.is_("EQ", y, zero), w.is_("EQ", x, one)), one, power)


def _cube_root(w: Wide, x: Value) -> Value:
    magnitude = w.op("abs", x)
    is_wide = w.ctx.avals_out[0].dtype == w.aval.dtype
    if is_wide:
        # Products take subnormal numbers for zero, and logarithms do not: the step below would give neither root.
        smallest = w.number(float(np.finfo(w.aval.dtype).smallest_normal))
        magnitude = w.where(w.is_("LT", magnitude, smallest), w.number(0.0), magnitude)
    root = w.op("exponential", w.op("divide", w.op("log", magnitude), w.number(3.0)))
    if is_wide:
        # One step of Newton's method takes away what rounding the logarithm left. Divided first, no cube can overflow.
        error = w.op("subtract", root, w.op("divide", w.op("divide", magnitude, root), root))
        better = w.op("subtract", root, w.op("divide", error, w.number(3.0)))
        # Not of zero and infinity.
        root = w.where(w.is_("EQ", error, error), better, root)
    return w.negated_where(w.is_negative(x), root)


def _exp2(w: Wide, x: Value) -> Value:
    return w.op("exponential", w.op("multiply", x, w.number(math.log(2))))


define_wide(rules, pow_p, "stablehlo.power", power, on_complex=complex.power)
define_wide(rules, cbrt_p, "stablehlo.cbrt", _cube_root)


@rules.define(lowering, exp2_p, platform="iree")
def _exp2_rule(ctx: EqnContext, x: Value, **params: Any) -> Value:
    if ctx.avals_in[0].dtype.kind == "c":
        return complex.exp2(ctx, x)
    if ctx.avals_in[0].dtype == FLOAT64:
        return stablehlo.exp2(ctx, x)
    return computed_wide(ctx, _exp2, x)


_log = elementwise("stablehlo.log")


@rules.define(lowering, log_p, platform="iree")
def _log_rule(ctx: EqnContext, x: Value, **params: Any) -> Value:
    (aval,) = ctx.avals_in
    if aval.dtype.kind != "c":
        return _log(ctx, x)
    return complex.log(ctx, x)
