"""Loops, with workarounds for the buffers that they carry."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.control_flow import scan_p, while_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.control_flow import write_loop, write_scan
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copied_carries import update_in_place
from plugjax_iree.workarounds.ended_loops import waited_for
from plugjax_iree.workarounds.shared_carries import carry_apart, start_apart

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
    start = [start_apart(ctx, x) for x in operands[split:]]

    def condition(*carry: Value) -> list[Value]:
        return ctx.inline(cond_jaxpr, [*fixed[:cond_nconsts], *carry])

    def body(*carry: Value) -> list[Value]:
        new = ctx.inline(body_jaxpr, [*fixed[cond_nconsts:], *carry])
        return [carry_apart(ctx, x) for x in new]

    return list(_write_loop(ctx, list(map(mlir.type_of, avals)), start, condition, body))


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
        return [waited_for(ctx, x) for x in body(*carry)]

    results = write_loop(types, operands, condition, step)
    update_in_place(ctx, results[0].owner)
    return results
