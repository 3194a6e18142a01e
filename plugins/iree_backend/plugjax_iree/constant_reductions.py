"""Reductions of constants, which IREE 3.13 computes wrongly.

What elementwise operations make of arrays that hold one value each (``ones(4) / 4``) is such an array too, and IREE takes the reduction
of it for the value itself: the sum of ``ones(4) / 4`` is 0.25. No flag changes it. Behind a barrier it does not know that the
operand is constant, and computes the reduction. Products of matrices are right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import ClosedJaxpr, hookimpl
from plugjax.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, memoise
from plugjax.core.vocabulary import optimization_barrier_p

_REDUCTIONS = ("reduce", "argmax", "argmin")


@hookimpl
def plugjax_jaxpr_passes(platform: str) -> Sequence[Callable[[ClosedJaxpr], ClosedJaxpr]]:
    """For programs that IREE compiles."""
    return [guarded] if platform == "iree" else []


def guarded(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program with a barrier before each reduction of what comes of constants alone; in programs in it, too. Memoised."""
    found: ClosedJaxpr = memoise(jaxpr, "constant reductions", lambda: _guarded(jaxpr))
    return found


def _guarded(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    inner = jaxpr.jaxpr
    constant: set[Any] = set(inner.constvars)
    eqns: list[JaxprEqn] = []
    changed = False
    for eqn in inner.eqns:
        if eqn.primitive.structured:
            params = {k: _in_param(v) for k, v in eqn.params.items()}
            if any(params[k] is not v for k, v in eqn.params.items()):
                eqn, changed = eqn.replace(params=params), True
        known = not eqn.effects and all(type(v) is Literal or v in constant for v in eqn.invars)
        if known and eqn.invars and eqn.primitive.name.startswith(_REDUCTIONS):
            operands = [v if type(v) is Literal else Var(v.aval) for v in eqn.invars]
            eqns += [
                JaxprEqn([v], [w], optimization_barrier_p, {})
                for v, w in zip(eqn.invars, operands, strict=True)
                if v is not w
            ]
            eqn, known, changed = eqn.replace(invars=operands), False, True
        if known:
            constant.update(eqn.outvars)
        eqns.append(eqn)
    if not changed:
        return jaxpr
    program = Jaxpr(inner.constvars, inner.invars, inner.outvars, eqns, inner.debug_name)
    return ClosedJaxpr(program, jaxpr.consts)


def _in_param(param: Any) -> Any:
    if isinstance(param, ClosedJaxpr):
        return guarded(param)
    if isinstance(param, tuple) and any(isinstance(v, ClosedJaxpr) for v in param):
        found = tuple(_in_param(v) for v in param)
        return found if any(a is not b for a, b in zip(found, param, strict=True)) else param
    return param
