"""Updates of slices, of values that are not shared (``copies.py``)."""

from __future__ import annotations

from plugjax.core import RuleSet, lowering
from plugjax.lax.slicing import dynamic_update_slice_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.copies import apart, copied, to_update

rules = RuleSet(__name__)


@rules.define(lowering, dynamic_update_slice_p, platform="iree")
def _dynamic_update_slice(ctx: EqnContext, x: Value, update: Value, *starts: Value) -> Value:
    if update.type == x.type:
        # IREE takes the update itself for the result, and the next one would write into it.
        return copied(ctx, update)
    operands = [to_update(ctx, x), apart(ctx, update, x), *starts]
    return mlir.value("stablehlo.dynamic_update_slice", ctx.avals_out[0], operands)
