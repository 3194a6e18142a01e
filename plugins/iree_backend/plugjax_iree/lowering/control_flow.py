"""Loops, with barriers that keep IREE 3.13 from confusing the values that they carry.

Values that one computation made lie in one buffer, and a branch that passes a buffer on twice loses it: the virtual machine moves it
away while the other copy still needs it ("ref is null"). A value that comes out of a barrier is a buffer of its own. A value that
only the condition reads is dropped from what goes into the loop, but not from what comes out, and then the process ends.
Loops also become faster: what is updated in place no longer is copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.core import ClosedJaxpr, RuleSet, lowering
from plugjax.core.transforms.dce import prune_closed
from plugjax.lax.control_flow import while_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.control_flow import write_while_loop
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.copies import BARRIER, copied, either, opaque

rules = RuleSet(__name__)


@rules.define(lowering, while_p, platform="iree")
def _while(
    ctx: EqnContext,
    *operands: Value,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[Value]:
    _, read = prune_closed(body_jaxpr, (True,) * len(body_jaxpr.out_avals))

    def finish(new: list[Value], old: Sequence[Value]) -> list[Value]:
        return [
            _own(ctx, x if read[body_nconsts + i] else either(ctx, x, y))
            for i, (x, y) in enumerate(zip(new, old, strict=True))
        ]

    split = cond_nconsts + body_nconsts
    operands = (*operands[:split], *(opaque(copied(ctx, x)) for x in operands[split:]))
    return write_while_loop(
        ctx, operands, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts, finish
    )


def _own(ctx: EqnContext, x: Value) -> Value:
    """The value in a buffer of its own."""
    # The compiler takes equal values for one, behind barriers too.
    if _is_constant(x) or any(use.owner.name == BARRIER for use in x.uses):
        x = copied(ctx, x)
    return opaque(x)


def _is_constant(x: Value) -> bool:
    owner = x.owner
    name = getattr(owner, "name", "")
    if name == "stablehlo.broadcast_in_dim":
        return _is_constant(owner.operands[0])
    return bool(name == "stablehlo.constant")
