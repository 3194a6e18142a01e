"""The cube root of float64, for which IREE 3.13 has no code."""

from __future__ import annotations

import numpy as np

from plugjax.core import RuleSet, ShapedArray, lowering
from plugjax.core.dtypes import BOOL, FLOAT64
from plugjax.lax.exponential import cbrt_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, cbrt_p, platform="iree")
def _cbrt(ctx: EqnContext, x: Value) -> Value:
    (aval,) = ctx.avals_in
    if aval.dtype != FLOAT64:
        return mlir.value("stablehlo.cbrt", aval, [x])

    def op(name: str, *operands: Value) -> Value:
        return mlir.value(f"stablehlo.{name}", aval, operands)

    three, magnitude = ctx.constant(3.0, aval), op("abs", x)
    y = op("exponential", op("divide", op("log", magnitude), three))
    # One step of Newton's method takes away what rounding the logarithm left. Divided first, no
    # cube can overflow.
    error = op("subtract", y, op("divide", op("divide", magnitude, y), y))
    y = op("subtract", y, op("divide", error, three))
    y = op("multiply", op("sign", x), y)
    flags = ShapedArray(aval.shape, BOOL)
    infinite = mlir.value("stablehlo.not", flags, [mlir.value("stablehlo.is_finite", flags, [x])])
    # Zeros, and the subnormal numbers, with which IREE computes as with zeros.
    zero = compare("LT", aval, magnitude, ctx.constant(np.finfo(FLOAT64).tiny, aval))
    itself = mlir.value("stablehlo.or", flags, [infinite, zero])
    return op("select", itself, x, y)
