"""Lowerings of tokens: constants behind barriers."""

from __future__ import annotations

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.tokens import after_all_p, create_token_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, create_token_p, after_all_p)
def _token(ctx: EqnContext, *operands: Value) -> Value:
    token = ctx.constant(0, ctx.avals_out[0])
    if not operands:
        return token
    together = [token, *operands]
    types = [x.type for x in together]
    return mlir.op("stablehlo.optimization_barrier", types, together).results[0]
