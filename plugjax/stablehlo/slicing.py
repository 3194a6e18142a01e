"""Lowerings of slices at computed places."""

from __future__ import annotations

from plugjax.core.rules import RuleSet, lowering
from plugjax.lax import slicing as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, lax.dynamic_slice_p)
def _dynamic_slice(
    ctx: EqnContext, x: Value, *starts: Value, slice_sizes: tuple[int, ...]
) -> Value:
    attributes = {"slice_sizes": mlir.i64s(slice_sizes)}
    return mlir.value("stablehlo.dynamic_slice", ctx.avals_out[0], [x, *starts], attributes)


@rules.define(lowering, lax.dynamic_update_slice_p)
def _dynamic_update_slice(ctx: EqnContext, x: Value, update: Value, *starts: Value) -> Value:
    return mlir.value("stablehlo.dynamic_update_slice", ctx.avals_out[0], [x, update, *starts])
