"""Lowerings of exponential, logarithmic and power primitives."""

from __future__ import annotations

import math

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import exponential as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import define_elementwise
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

define_elementwise(
    rules,
    {
        lax.exp_p: "stablehlo.exponential",
        lax.expm1_p: "stablehlo.exponential_minus_one",
        lax.log_p: "stablehlo.log",
        lax.log1p_p: "stablehlo.log_plus_one",
        lax.sqrt_p: "stablehlo.sqrt",
        lax.rsqrt_p: "stablehlo.rsqrt",
        lax.cbrt_p: "stablehlo.cbrt",
        lax.logistic_p: "stablehlo.logistic",
        lax.pow_p: "stablehlo.power",
    },
)


@rules.define(lowering, lax.exp2_p)
def exp2(ctx: EqnContext, x: Value) -> Value:
    """Two to the power of a number."""
    (aval,) = ctx.avals_in
    scaled = mlir.value("stablehlo.multiply", aval, [ctx.constant(math.log(2), aval), x])
    return mlir.value("stablehlo.exponential", aval, [scaled])
