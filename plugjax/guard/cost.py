"""Rough estimate of a program's time on NumPy, for deciding what to verify.

Seconds per element, product and equation are those of one core of a small server. Other machines are within a factor of
three.
"""

from __future__ import annotations

import math
from typing import Any

from plugjax.extend import registry
from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, programs_in
from plugjax.lax.control_flow import cond_p, scan_p, while_p
from plugjax.lax.convolution import conv_general_dilated_p
from plugjax.lax.dot import dot_general_p
from plugjax.lax.rounding import terms_rule

_PER_EQUATION = 3e-6
_PER_ELEMENT = 2e-9
_PER_PRODUCT = 1e-10
_PER_CONVOLVED = 1e-9
# Assumed steps of a while loop.
_WHILE_STEPS = 100


def cost(jaxpr: Jaxpr) -> float:
    """Seconds for a program."""
    return sum(map(equation_cost, jaxpr.eqns))


def equation_cost(eqn: JaxprEqn) -> float:
    """Seconds for an equation."""
    inner = [cost(program.jaxpr) for program in programs_in(eqn.params)]
    if eqn.primitive is cond_p:
        return _PER_EQUATION + max(inner, default=0.0)
    if inner:
        steps = {scan_p: eqn.params.get("length", 1), while_p: _WHILE_STEPS}.get(eqn.primitive, 1)
        return _PER_EQUATION + _moved(eqn) + sum(inner) * int(steps)
    return _PER_EQUATION + _moved(eqn) + _products(eqn)


def _moved(eqn: JaxprEqn) -> float:
    sizes: list[int] = [v.aval.size for v in (*eqn.invars, *eqn.outvars)]
    return _PER_ELEMENT * sum(sizes)


def _products(eqn: JaxprEqn) -> float:
    if eqn.primitive is dot_general_p:
        lhs, rhs = (v.aval.size for v in eqn.invars)
        return _PER_PRODUCT * math.sqrt(float(lhs) * rhs * eqn.outvars[0].aval.size)
    if eqn.primitive is conv_general_dilated_p:
        kernel = eqn.invars[1].aval
        spec = eqn.params["dimension_numbers"].rhs_spec
        features: int = kernel.shape[spec[0]]
        return float(_PER_CONVOLVED * eqn.outvars[0].aval.size * kernel.size / max(1, features))
    return 0.0


def longest_sum(jaxpr: Jaxpr, repeated: int = 1) -> int:
    """Number of terms of the longest sum in a program; steps of loops multiply."""
    longest = 1
    table = registry.table(terms_rule)
    for eqn in jaxpr.eqns:
        steps = repeated * int(eqn.params.get("length", 1)) if eqn.primitive is scan_p else repeated
        for program in programs_in(eqn.params):
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
