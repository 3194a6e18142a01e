"""Lowerings of barriers and names."""

from __future__ import annotations

from typing import Any

from plugjax.extend.core import optimization_barrier_p
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.barrier import name_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, optimization_barrier_p)
def _optimization_barrier(ctx: EqnContext, *operands: Value) -> list[Value]:
    types = [x.type for x in operands]
    return list(mlir.op("stablehlo.optimization_barrier", types, list(operands)).results)


@rules.define(lowering, name_p)
def _name(ctx: EqnContext, x: Value, **_: Any) -> Value:
    return x
