"""Lowering of ``dce_sink``, which keeps values from dead-code elimination."""

from __future__ import annotations

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.dce_sink import dce_sink_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.host_call import HostCall
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, dce_sink_p)
def _dce_sink(ctx: EqnContext, x: Value, *, prevent_mlir_dce: bool) -> list[Value]:
    if not prevent_mlir_dce:
        return []
    call = HostCall(lambda _: (), tuple(ctx.avals_in), (), "dce_sink", effectful=True)
    return ctx.host_call(call, [x])
