"""Lowerings of trigonometric and hyperbolic primitives."""

from __future__ import annotations

from plugjax.core.rules import RuleSet
from plugjax.lax import trigonometric as lax
from plugjax.stablehlo.elementwise import define_elementwise

rules = RuleSet(__name__)

define_elementwise(
    rules,
    {
        lax.sin_p: "stablehlo.sine",
        lax.cos_p: "stablehlo.cosine",
        lax.tan_p: "stablehlo.tan",
        lax.asin_p: "chlo.asin",
        lax.acos_p: "chlo.acos",
        lax.atan_p: "chlo.atan",
        lax.atan2_p: "stablehlo.atan2",
        lax.sinh_p: "chlo.sinh",
        lax.cosh_p: "chlo.cosh",
        lax.tanh_p: "stablehlo.tanh",
        lax.asinh_p: "chlo.asinh",
        lax.acosh_p: "chlo.acosh",
        lax.atanh_p: "chlo.atanh",
    },
)
