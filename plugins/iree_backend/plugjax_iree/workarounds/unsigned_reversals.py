"""Reversals of unsigned integers, which IREE 3.13 refuses: signed integers of the same bits are reversed."""

from __future__ import annotations

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.shape import rev_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.switch import is_on

rules = RuleSet(__name__)


@rules.define(lowering, rev_p, platform="iree")
def _rev(ctx: EqnContext, x: Value, *, dimensions: tuple[int, ...]) -> Value:
    (aval,) = ctx.avals_in
    attributes = {"dimensions": mlir.i64s(dimensions)}
    if aval.dtype.kind != "u" or not is_on("unsigned_reversals"):
        return mlir.value("stablehlo.reverse", aval, [x], attributes)
    signed = ShapedArray(aval.shape, np.dtype(f"int{8 * aval.dtype.itemsize}"))
    y = mlir.value("stablehlo.bitcast_convert", signed, [x])
    y = mlir.value("stablehlo.reverse", signed, [y], attributes)
    return mlir.value("stablehlo.bitcast_convert", aval, [y])
