"""Equations that run by their host kernels although lowerings exist."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from plugjax.extend import registry
from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Primitive, ShapedArray
from plugjax.extend.rules import RuleSet, abstract_eval, impl

rules = RuleSet(__name__)

# No platform lowers it, so compiled programs call the kernel.
on_host_p = Primitive("on_host", multiple_results=True)


@rules.define(abstract_eval, on_host_p)
def _avals(*operands: ShapedArray, eqn: JaxprEqn) -> list[ShapedArray]:
    return [v.aval for v in eqn.outvars]


@rules.define(impl, on_host_p)
def _run(*operands: Any, eqn: JaxprEqn) -> list[Any]:
    found = registry.table(impl)[eqn.primitive](*operands, **eqn.params)
    return list(found) if eqn.primitive.multiple_results else [found]


def with_host(jaxpr: ClosedJaxpr, positions: Collection[int]) -> ClosedJaxpr:
    """The program with the equations at given positions on the host."""
    inner = jaxpr.jaxpr
    eqns = [
        eqn.replace(primitive=on_host_p, params={"eqn": eqn}) if i in positions else eqn
        for i, eqn in enumerate(inner.eqns)
    ]
    program = Jaxpr(inner.constvars, inner.invars, inner.outvars, eqns, inner.debug_name)
    return ClosedJaxpr(program, jaxpr.consts)
