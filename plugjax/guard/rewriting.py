"""Programs from programs: each equation is replaced by others, inside loops, branches and calls too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import registry
from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, programs_in
from plugjax.extend.rules import expand_rule, replay_rule
from plugjax.extend.transforms import Kept

Rewrite = Callable[[JaxprEqn], Sequence[JaxprEqn]]


def runs_programs(eqn: JaxprEqn) -> bool:
    """Whether an equation runs the programs in its parameters: it is a loop, a branch, or a call of its program."""
    primitive = eqn.primitive
    if not primitive.structured:
        return False
    if primitive in registry.table(replay_rule):
        return True
    expand = registry.table(expand_rule).get(primitive)
    found = None if expand is None else expand(**eqn.params)
    callee = found.callee if isinstance(found, Kept) else found
    return any(callee is program for program in programs_in(eqn.params))


def rewritten(jaxpr: ClosedJaxpr, rewrite: Rewrite) -> ClosedJaxpr:
    """The program with ``rewrite(eqn)`` in place of each equation; the same object if nothing changed."""
    inner = jaxpr.jaxpr
    eqns: list[JaxprEqn] = []
    changed = False
    for eqn in inner.eqns:
        if runs_programs(eqn):
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
