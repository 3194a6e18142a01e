"""Loops, with barriers that keep IREE 3.13 from confusing the values that they carry.

Values that one computation made lie in one buffer, and what several of them give back is released several times ("transient buffer has
not been committed"; iree-org/iree pull request 24841): each gets a buffer of its own, which a copy behind a barrier is. What does not change is
seen from outside, not carried: such values are dropped from what goes into the loop, but not from what comes out. And where a loop's
last step waits for nothing, the release of two of its results waits for nothing either, which ends the process: what an inner loop gave is
copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from plugjax.core import ClosedJaxpr, RuleSet, lowering
from plugjax.lax.control_flow import scan_p, while_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.control_flow import write_loop, write_scan
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.copies import BARRIER, copied, is_constant, opaque, root
from plugjax_iree.lowering.in_place import update_in_place

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
    split = cond_nconsts + body_nconsts
    fixed, avals = operands[:split], ctx.avals_in[split:]
    start = [opaque(copied(ctx, x)) for x in operands[split:]]

    def condition(*carry: Value) -> list[Value]:
        return ctx.inline(cond_jaxpr, [*fixed[:cond_nconsts], *carry])

    def body(*carry: Value) -> list[Value]:
        new = ctx.inline(body_jaxpr, [*fixed[cond_nconsts:], *carry])
        return [_own(ctx, x) for x in new]

    return list(_write_loop(ctx, list(map(mlir.type_of, avals)), start, condition, body))


def _own(ctx: EqnContext, x: Value) -> Value:
    """The value in a buffer of its own."""
    # The compiler takes equal values for one, behind barriers too.
    if is_constant(x) or any(use.owner.name == BARRIER for use in x.uses):
        x = copied(ctx, x)
    return opaque(x)


@rules.define(lowering, scan_p, platform="iree")
def _scan(
    ctx: EqnContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    unroll: int,
    num_consts: int,
    num_carry: int,
) -> list[Value]:
    return write_scan(
        ctx,
        operands,
        jaxpr,
        length,
        reverse,
        unroll,
        num_consts,
        num_carry,
        partial(_write_loop, ctx),
    )


def _write_loop(
    ctx: EqnContext, types: Sequence[Any], operands: Sequence[Value], condition: Any, body: Any
) -> Sequence[Value]:
    def step(*carry: Value) -> list[Value]:
        return [copied(ctx, x) if _is_of_a_loop(x) else x for x in body(*carry)]

    results = write_loop(types, operands, condition, step)
    update_in_place(ctx, results[0].owner)
    return results


def _is_of_a_loop(x: Value) -> bool:
    """Whether an inner loop gives the value, which is there then, and not only at a time to come."""
    return getattr(root(x).owner, "name", None) == "stablehlo.while"
