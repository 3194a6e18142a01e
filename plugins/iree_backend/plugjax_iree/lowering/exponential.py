"""Powers, roots and logarithms.

IREE 3.13 computes ``x ** y`` as ``exp(y log x)``: nan for every negative ``x``, for ``0 ** 0`` and ``inf ** 0``, with errors of 108 units in
the last place of float32 (``2 ** x`` 68), and of some hundred of float64. Its cube root of infinity is nan, and it has none of float64.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.exponential import cbrt_p, exp2_p, log_p, pow_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import elementwise
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering import (
    complex,  # as of lax
    double_words,
)
from plugjax_iree.lowering.wide import Wide, computed_wide, define_wide

rules = RuleSet(__name__)


def power(w: Wide, x: Value, y: Value, *, precise: bool = False) -> Value:
    """``x ** y`` as IEEE 754 defines ``pow``.

    A precise one errs by 2 units in the last place at most; another by as many as the exponent of the exponential counts.
    """
    zero, one, half = w.number(0.0), w.number(1.0), w.number(0.5)
    magnitude = w.op("abs", x)
    power = w.op("exponential", w.op("multiply", y, w.op("log", magnitude)))
    if precise and _is_wide(w):
        normal = w.both(
            w.is_("GE", magnitude, _smallest_normal(w)),
            w.is_("LT", magnitude, w.number(math.inf)),
        )
        exact = double_words.scaled_exponential(w, y, double_words.logarithm(w, magnitude))
        power = w.where(normal, exact, power)
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
    is_wide = _is_wide(w)
    if is_wide:
        # Products take subnormal numbers for zero, and logarithms do not: the step below would give neither root.
        small = w.is_("LT", magnitude, _smallest_normal(w))
        magnitude = w.where(small, w.number(0.0), magnitude)
    root = w.op("exponential", w.op("divide", w.op("log", magnitude), w.number(3.0)))
    if is_wide:
        # One step of Newton's method takes away what rounding the logarithm left. Divided first, no cube can overflow.
        error = w.op("subtract", root, w.op("divide", w.op("divide", magnitude, root), root))
        better = w.op("subtract", root, w.op("divide", error, w.number(3.0)))
        # Not of zero and infinity.
        root = w.where(w.is_("EQ", error, error), better, root)
    return w.negated_where(w.is_negative(x), root)


def _exp2(w: Wide, x: Value) -> Value:
    if _is_wide(w):
        return double_words.scaled_exponential(w, x, double_words.log_2(w))
    return w.op("exponential", w.op("multiply", x, w.number(math.log(2))))


def _is_wide(w: Wide) -> bool:
    """Whether the result has as many digits as what is computed with."""
    return w.ctx.avals_out[0].dtype == w.aval.dtype


def _smallest_normal(w: Wide) -> Value:
    return w.number(float(np.finfo(w.aval.dtype).smallest_normal))


define_wide(rules, pow_p, "stablehlo.power", partial(power, precise=True), on_complex=complex.power)
define_wide(rules, cbrt_p, "stablehlo.cbrt", _cube_root)


@rules.define(lowering, exp2_p, platform="iree")
def _exp2_rule(ctx: EqnContext, x: Value, **params: Any) -> Value:
    if ctx.avals_in[0].dtype.kind == "c":
        return complex.exp2(ctx, x)
    return computed_wide(ctx, _exp2, x)


_log = elementwise("stablehlo.log")


@rules.define(lowering, log_p, platform="iree")
def _log_rule(ctx: EqnContext, x: Value, **params: Any) -> Value:
    (aval,) = ctx.avals_in
    if aval.dtype.kind != "c":
        return _log(ctx, x)
    return complex.log(ctx, x)
