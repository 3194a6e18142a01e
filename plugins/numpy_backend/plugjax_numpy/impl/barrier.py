"""Kernels of barriers and names, which return their operands."""

from __future__ import annotations

from plugjax.extend.core import optimization_barrier_p
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.barrier import name_p
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, optimization_barrier_p)
def _optimization_barrier(*operands: Value) -> list[Value]:
    return list(operands)


@rules.define(impl, name_p)
def _name(x: Value, *, name: str) -> Value:
    return x
