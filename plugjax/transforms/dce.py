"""Dead-code elimination: equations without used results and without effects are dropped.

Calls (``jit``) are pruned inside as well: unread results and then unread operands of the inner program disappear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Var, memoise
from plugjax.core.rules import RuleKind

# A rule prunes an equation whose results are partly unread: it gives which operands are needed, and a new equation or None.
dce_rule: RuleKind[Callable[[Sequence[bool], JaxprEqn], tuple[Sequence[bool], JaxprEqn | None]]] = (
    RuleKind("dce", "(used_outputs, eqn) -> (used_inputs, new eqn or None)")
)


def prune(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], *, keep_inputs: bool = False
) -> tuple[Jaxpr, list[bool]]:
    """Keep some outputs of a program and what they need.

    Args:
        jaxpr: the program.
        used_outputs: which outputs to keep.
        keep_inputs: whether inputs stay even if nothing reads them.

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
        if rule is not None and not all(used):
            _, replaced = rule(used, eqn)
            if replaced is None:
                continue
            eqn = replaced
        elif not all(used):
            eqn = eqn.replace(
                outvars=[
                    v if u else DropVar(v.aval) for v, u in zip(eqn.outvars, used, strict=True)
                ]
            )
        kept.append(eqn)
        live.update(v for v in eqn.invars if type(v) is Var)
    needed = [keep_inputs or v in live for v in jaxpr.invars]
    invars = [v for v, n in zip(jaxpr.invars, needed, strict=True) if n]
    constvars = [v for v in jaxpr.constvars if v in live]
    pruned = Jaxpr(constvars, invars, outvars, kept[::-1], jaxpr.debug_name)
    return pruned, needed


def prune_closed(
    jaxpr: ClosedJaxpr, used_outputs: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
    """As :func:`prune`, on a closed program; memoised."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        pruned, needed = prune(jaxpr.jaxpr, used_outputs)
        return ClosedJaxpr(pruned, _constants(jaxpr, pruned)), needed

    found: tuple[ClosedJaxpr, list[bool]] = memoise(jaxpr, ("prune", used_outputs), make)
    return found


def prune_outputs(jaxpr: ClosedJaxpr, used_outputs: tuple[bool, ...]) -> ClosedJaxpr:
    """As :func:`prune_closed`, with all inputs kept; memoised."""

    def make() -> ClosedJaxpr:
        pruned, _ = prune(jaxpr.jaxpr, used_outputs, keep_inputs=True)
        return ClosedJaxpr(pruned, _constants(jaxpr, pruned))

    found: ClosedJaxpr = memoise(jaxpr, ("prune outputs", used_outputs), make)
    return found


def _constants(jaxpr: ClosedJaxpr, pruned: Jaxpr) -> list[Any]:
    values = dict(zip(jaxpr.jaxpr.constvars, jaxpr.consts, strict=True))
    return [values[v] for v in pruned.constvars]


def dce(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The pass: all outputs and all inputs stay."""
    return prune_outputs(jaxpr, (True,) * len(jaxpr.jaxpr.outvars))
