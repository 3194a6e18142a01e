"""A product and a sum that are rounded once."""

from __future__ import annotations

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import FLOAT32, FLOAT64
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.random_bits import multiply_add_p
from plugjax.stablehlo import mlir, random as stablehlo
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.elementwise import stretched
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.hardware import has_float64

rules = RuleSet(__name__)


@rules.define(lowering, multiply_add_p, platform="iree")
def _multiply_add(ctx: EqnContext, a: Value, b: Value, c: Value) -> Value:
    (out,) = ctx.avals_out
    if out.dtype != FLOAT32 or not has_float64(ctx):
        return stablehlo.multiply_add(ctx, a, b, c)
    # LLVM may or may not contract a product and a sum. In float64 the product of two float32 is exact, and the sum
    # is so nearly rounded once that no uniform number differs.
    narrow, wide = ShapedArray(out.shape, FLOAT32), ShapedArray(out.shape, FLOAT64)
    a, b, c = (convert(x, narrow, FLOAT64) for x in stretched(ctx, (a, b, c)))
    product = mlir.value("stablehlo.multiply", wide, [a, b])
    return convert(mlir.value("stablehlo.add", wide, [product, c]), wide, FLOAT32)
