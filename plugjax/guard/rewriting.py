"""Programs from programs: each equation is replaced by others, inside loops, branches and calls too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import registry
from plugjax.extend.calls import jit_p
from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Primitive
from plugjax.extend.rules import replay_rule

Rewrite = Callable[[JaxprEqn], Sequence[JaxprEqn]]


def is_control(primitive: Primitive) -> bool:
    """Whether the programs of a primitive run on whole arrays, one equation after the other: then it can replay them."""
    return primitive is jit_p or primitive in registry.table(replay_rule)


def rewritten(jaxpr: ClosedJaxpr, rewrite: Rewrite) -> ClosedJaxpr:
    """The program with ``rewrite(eqn)`` in place of each equation; the same object if nothing changed."""
    inner = jaxpr.jaxpr
    eqns: list[JaxprEqn] = []
    changed = False
    for eqn in inner.eqns:
        if is_control(eqn.primitive):
            params = {name: _in_param(value, rewrite) for name, value in eqn.params.items()}
            if any(params[name] is not value for name, value in eqn.params.items()):
                eqn, changed = eqn.replace(params=params), True
        new = rewrite(eqn)
        changed = changed or len(new) != 1 or new[0] is not eqn
        eqns.extend(new)
    if not changed:
        return jaxpr
    program = Jaxpr(inner.constvars, inner.invars, inner.outvars, eqns, inner.debug_name)
    return ClosedJaxpr(program, jaxpr.consts)


def _in_param(value: Any, rewrite: Rewrite) -> Any:
    if isinstance(value, ClosedJaxpr):
        return rewritten(value, rewrite)
    if isinstance(value, tuple) and any(isinstance(v, ClosedJaxpr) for v in value):
        found = tuple(_in_param(v, rewrite) for v in value)
        return found if any(a is not b for a, b in zip(found, value, strict=True)) else value
    return value
