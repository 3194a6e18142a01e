"""Copies: values in a buffer of their own."""

from __future__ import annotations

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.conversion import copy_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copies import copied

rules = RuleSet(__name__)


@rules.define(lowering, copy_p, platform="iree")
def _copy(ctx: EqnContext, x: Value) -> Value:
    return copied(ctx, x)
