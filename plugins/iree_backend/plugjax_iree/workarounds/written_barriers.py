"""Results of the user's barriers. For IREE 3.13 they are the buffers of the operands, and it updates one of the two in place; so they are copied."""

from __future__ import annotations

from plugjax.extend.core import optimization_barrier_p
from plugjax.extend.rules import RuleSet, lowering
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copies import copied, opaque
from plugjax_iree.workarounds.switch import is_on

rules = RuleSet(__name__)


@rules.define(lowering, optimization_barrier_p, platform="iree")
def _optimization_barrier(ctx: EqnContext, *operands: Value) -> list[Value]:
    if not is_on("written_barriers"):
        return [opaque(x) for x in operands]
    return [copied(ctx, x) for x in operands]
