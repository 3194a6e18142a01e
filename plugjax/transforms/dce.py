"""Dead-code elimination: equations without used results and without effects are dropped.

Calls, loops and branches are pruned inside as well: unread results and then unread operands of the inner program disappear.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Var, memoise, programs_in
from plugjax.core.rules import RuleKind

# A rule prunes an equation whose results are partly unread, or which holds programs: it gives which operands are needed, and a
# new equation or None.
dce_rule: RuleKind[Callable[[Sequence[bool], JaxprEqn], tuple[Sequence[bool], JaxprEqn | None]]] = (
    RuleKind("dce", "(used_outputs, eqn) -> (used_inputs, new eqn or None)")
)


def prune(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], keep_inputs: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Keep some outputs of a program and what they need.

    Args:
        jaxpr: the program.
        used_outputs: which outputs to keep.
        keep_inputs: which inputs stay even if nothing reads them.

    Returns:
        The pruned program, and which inputs it kept.
    """
    table = registry.table(dce_rule)
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    live: set[Any] = {v for v in outvars if type(v) is Var}
    kept: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in live for v in eqn.outvars]
        if not any(used) and not eqn.effects:
            continue
        rule = table.get(eqn.primitive)
        if rule is not None and (eqn.primitive.structured or not all(used)):
            _, replaced = rule(used, eqn)
            if replaced is None:
                continue
            eqn = eqn if _same(replaced, eqn) else replaced
        elif not all(used):
            eqn = eqn.replace(
                outvars=[
                    v if u else DropVar(v.aval) for v, u in zip(eqn.outvars, used, strict=True)
                ]
            )
        kept.append(eqn)
        live.update(v for v in eqn.invars if type(v) is Var)
    if isinstance(keep_inputs, bool):
        keep_inputs = (keep_inputs,) * len(jaxpr.invars)
    needed = [k or v in live for k, v in zip(keep_inputs, jaxpr.invars, strict=True)]
    invars = [v for v, n in zip(jaxpr.invars, needed, strict=True) if n]
    constvars = [v for v in jaxpr.constvars if v in live]
    pruned = Jaxpr(constvars, invars, outvars, kept[::-1], jaxpr.debug_name)
    return pruned, needed


def _same(replaced: JaxprEqn, eqn: JaxprEqn) -> bool:
    """Whether a rule left an equation as it was."""
    if (replaced.primitive, replaced.invars, replaced.outvars) != (
        eqn.primitive,
        eqn.invars,
        eqn.outvars,
    ):
        return False
    programs = zip(programs_in(replaced.params), programs_in(eqn.params), strict=True)
    return all(new is old for new, old in programs)


def prune_closed(
    jaxpr: ClosedJaxpr,
    used_outputs: tuple[bool, ...],
    keep_inputs: bool | tuple[bool, ...] = False,
) -> tuple[ClosedJaxpr, list[bool]]:
    """As :func:`prune`, on a closed program; memoised."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        pruned, needed = prune(jaxpr.jaxpr, used_outputs, keep_inputs)
        return _closed(jaxpr, pruned), needed

    key = ("prune", used_outputs, keep_inputs)
    found: tuple[ClosedJaxpr, list[bool]] = memoise(jaxpr, key, make)
    return found


def prune_outputs(jaxpr: ClosedJaxpr, used_outputs: tuple[bool, ...]) -> ClosedJaxpr:
    """As :func:`prune_closed`, with all inputs kept."""
    return prune_closed(jaxpr, used_outputs, True)[0]


def _closed(jaxpr: ClosedJaxpr, pruned: Jaxpr) -> ClosedJaxpr:
    """The pruned program with its constants; ``jaxpr`` itself, with all that is known of it, if nothing was dropped."""
    inner = jaxpr.jaxpr
    kept = len(pruned.eqns) == len(inner.eqns) and all(map(operator.is_, pruned.eqns, inner.eqns))
    if kept and (pruned.invars, pruned.outvars, pruned.constvars) == (
        inner.invars,
        inner.outvars,
        inner.constvars,
    ):
        return jaxpr
    values = dict(zip(inner.constvars, jaxpr.consts, strict=True))
    return ClosedJaxpr(pruned, [values[v] for v in pruned.constvars])


def dce(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The pass: all outputs and all inputs stay."""
    return prune_outputs(jaxpr, (True,) * len(jaxpr.jaxpr.outvars))
