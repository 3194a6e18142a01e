"""Updates of slices, on copies (`plugjax_iree.workarounds.updated_values`)."""

from __future__ import annotations

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.slicing import dynamic_update_slice_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copies import copied
from plugjax_iree.workarounds.overlapping_updates import apart
from plugjax_iree.workarounds.switch import is_on
from plugjax_iree.workarounds.updated_values import to_update

rules = RuleSet(__name__)


@rules.define(lowering, dynamic_update_slice_p, platform="iree")
def _dynamic_update_slice(ctx: EqnContext, x: Value, update: Value, *starts: Value) -> Value:
    if update.type == x.type and is_on("whole_updates"):
        # IREE would return the new value itself, and the next update would write into that.
        return copied(ctx, update)
    operands = [to_update(ctx, x), apart(ctx, update, x), *starts]
    return mlir.value("stablehlo.dynamic_update_slice", ctx.avals_out[0], operands)
