"""Reversal of unsigned integers, and of what was cut with a step, which IREE 3.13 does not compile."""

from __future__ import annotations

import numpy as np

from plugjax.core import RuleSet, ShapedArray, lowering
from plugjax.lax.shape import rev_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, rev_p, platform="iree")
def _rev(ctx: EqnContext, x: Value, *, dimensions: tuple[int, ...]) -> Value:
    (aval,) = ctx.avals_in
    attributes = {"dimensions": mlir.i64s(dimensions)}
    owner = x.owner
    if getattr(owner, "name", "") == "stablehlo.slice":
        # Fused with a slice that has steps, it ends in "LLVM Translation failed" for some sizes (3 elements, step 2).
        x = mlir.op("stablehlo.optimization_barrier", [x.type], [x]).result
    if aval.dtype.kind != "u":
        return mlir.value("stablehlo.reverse", aval, [x], attributes)
    signed = ShapedArray(aval.shape, np.dtype(f"int{8 * aval.dtype.itemsize}"))
    y = mlir.value("stablehlo.bitcast_convert", signed, [x])
    y = mlir.value("stablehlo.reverse", signed, [y], attributes)
    return mlir.value("stablehlo.bitcast_convert", aval, [y])
