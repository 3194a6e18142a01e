"""Lowerings of the primitives on complex numbers."""

from __future__ import annotations

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.complex import complex_p, conj_p, imag_p, real_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import define_elementwise
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

define_elementwise(
    rules,
    {
        real_p: "stablehlo.real",
        imag_p: "stablehlo.imag",
        complex_p: "stablehlo.complex",
    },
)


def real_aval(aval: ShapedArray) -> ShapedArray:
    """The aval of the real part of a complex array."""
    return ShapedArray(aval.shape, f"float{4 * aval.dtype.itemsize}")


@rules.define(lowering, conj_p)
def _conj(ctx: EqnContext, x: Value) -> Value:
    (aval,) = ctx.avals_in
    part = real_aval(aval)
    real = mlir.value("stablehlo.real", part, [x])
    imag = mlir.value("stablehlo.imag", part, [x])
    return mlir.value(
        "stablehlo.complex", aval, [real, mlir.value("stablehlo.negate", part, [imag])]
    )
