"""Rough estimate of a program's time on NumPy, for deciding what to verify.

Seconds per element, product and equation are those of one core of a small server. Other machines are within a factor of
three.
"""

from __future__ import annotations

from typing import Any

from plugjax.extend import registry
from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, programs_in
from plugjax.extend.rules import Work, work_rule
from plugjax.lax.rounding import terms_rule

_PER_EQUATION = 3e-6
_PER_ELEMENT = 2e-9
_PER_PRODUCT = 1e-10
_PER_CONVOLVED = 1e-9
# Assumed steps of a loop where only the values tell.
_UNKNOWN_STEPS = 100


def cost(jaxpr: Jaxpr) -> float:
    """Seconds for a program."""
    return sum(map(equation_cost, jaxpr.eqns))


def equation_cost(eqn: JaxprEqn) -> float:
    """Seconds for an equation."""
    inner = [cost(program.jaxpr) for program in programs_in(eqn.params)]
    work = _work(eqn)
    if work.one_program:
        return _PER_EQUATION + max(inner, default=0.0)
    steps = _UNKNOWN_STEPS if work.steps is None else work.steps
    products = _PER_PRODUCT * work.products + _PER_CONVOLVED * work.convolved
    return _PER_EQUATION + _moved(eqn) + products + sum(inner) * steps


def _moved(eqn: JaxprEqn) -> float:
    sizes: list[int] = [v.aval.size for v in (*eqn.invars, *eqn.outvars)]
    return _PER_ELEMENT * sum(sizes)


def _work(eqn: JaxprEqn) -> Work:
    rule = registry.table(work_rule).get(eqn.primitive)
    return Work() if rule is None else rule(eqn)


def longest_sum(jaxpr: Jaxpr, repeated: int = 1) -> int:
    """Number of terms of the longest sum in a program; steps of loops multiply."""
    longest = 1
    table = registry.table(terms_rule)
    for eqn in jaxpr.eqns:
        for program in programs_in(eqn.params):
            steps = repeated * (_work(eqn).steps or 1)
            longest = max(longest, longest_sum(program.jaxpr, steps))
        rule = table.get(eqn.primitive)
        sizes = [v.aval.size for v in eqn.invars]
        outs = max((v.aval.size for v in eqn.outvars), default=0)
        if rule is not None:
            longest = max(longest, repeated * rule(*[v.aval for v in eqn.invars], **eqn.params))
        elif sizes and outs:
            longest = max(longest, repeated * max(sizes) // outs)
    return longest


def affordable(jaxpr: ClosedJaxpr, seconds: float) -> list[bool]:
    """For each output, whether it is within the budget, together with the outputs chosen before it."""
    producers: dict[Any, JaxprEqn] = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    paid: set[int] = set()
    left, chosen = seconds, []
    for out in jaxpr.jaxpr.outvars:
        needed = _cone(out, producers, paid)
        price = sum(map(equation_cost, needed))
        chosen.append(price <= left)
        if price <= left:
            left -= price
            paid.update(map(id, needed))
    return chosen


def _cone(out: Any, producers: dict[Any, JaxprEqn], paid: set[int]) -> list[JaxprEqn]:
    """Equations that a value needs and that are not paid for yet."""
    found: dict[int, JaxprEqn] = {}
    pending = [out]
    while pending:
        v = pending.pop()
        eqn = producers.get(v) if isinstance(v, Var) else None
        if eqn is not None and id(eqn) not in found and id(eqn) not in paid:
            found[id(eqn)] = eqn
            pending.extend(x for x in eqn.invars if not isinstance(x, Literal))
    return list(found.values())
