"""Composites, which IREE 3.13 knows none of: the decomposition is written in place."""

from __future__ import annotations

from typing import Any

from plugjax.core import ClosedJaxpr, RuleSet, lowering
from plugjax.lax.composite import composite_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, composite_p, platform="iree")
def _composite(ctx: EqnContext, *operands: Value, jaxpr: ClosedJaxpr, **_: Any) -> list[Value]:
    return ctx.inline(jaxpr, operands)
