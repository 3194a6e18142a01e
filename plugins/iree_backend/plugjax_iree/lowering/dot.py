"""Dot products over nothing."""

from __future__ import annotations

from typing import Any

from plugjax.core import RuleSet, lowering
from plugjax.lax.dot import dot_general_p
from plugjax.stablehlo import dot as stablehlo
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, dot_general_p, platform="iree")
def _dot_general(ctx: EqnContext, lhs: Value, rhs: Value, **params: Any) -> Value:
    if any(0 in aval.shape for aval in ctx.avals_in):
        # IREE 3.13 divides by the size of the contracted axis: the process dies of SIGFPE.
        return ctx.constant(0, ctx.avals_out[0])
    return stablehlo.dot_general(ctx, lhs, rhs, **params)
