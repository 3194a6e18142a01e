"""Arguments that IREE would overwrite.

IREE 3.13 updates a value in place if nothing reads it afterwards, even if it is an argument, which belongs to the caller
(iree-org/iree, issue 16168). An argument that such an update may reach is copied first, unless it is donated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plugjax.core import ClosedJaxpr, Literal
from plugjax.core.jaxpr import Jaxpr, JaxprEqn, Var, subjaxprs
from plugjax.lax.control_flow import scan_p, while_p
from plugjax.lax.conversion import copy_p
from plugjax.lax.gather_scatter import (
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
)
from plugjax.lax.slicing import dynamic_update_slice_p
from plugjax_iree.aliasing import passes_through
from plugjax_iree.foreign import is_foreign

# What is written in place. Loops copy what they carry; what they only read may be written in them, where a step updates it.
WRITES = frozenset(
    {
        dynamic_update_slice_p,
        scatter_p,
        scatter_add_p,
        scatter_max_p,
        scatter_min_p,
        scatter_mul_p,
    }
)

Arguments = frozenset[int]
_NONE: Arguments = frozenset()


def with_copies(jaxpr: ClosedJaxpr, donated: Sequence[int]) -> ClosedJaxpr:
    """The program with copies of arguments that it would overwrite."""
    inner = jaxpr.jaxpr
    written: set[int] = set()
    _follow(inner, {v: frozenset({i}) for i, v in enumerate(inner.invars)}, written)
    written -= set(donated)
    if not written:
        return jaxpr
    invars = [Var(v.aval) if i in written else v for i, v in enumerate(inner.invars)]
    copies = [JaxprEqn([invars[i]], [inner.invars[i]], copy_p, {}) for i in sorted(written)]
    copied = Jaxpr(inner.constvars, invars, inner.outvars, [*copies, *inner.eqns], inner.debug_name)
    return ClosedJaxpr(copied, jaxpr.consts)


def _follow(jaxpr: Jaxpr, held: Mapping[Var, Arguments], written: set[int]) -> None:
    """Add the arguments that a program writes, given those that its inputs may be, to ``written``."""
    known = dict(held)
    for eqn in jaxpr.eqns:
        operands = [_NONE if isinstance(v, Literal) else known.get(v, _NONE) for v in eqn.invars]
        foreign = is_foreign(eqn.primitive)
        if foreign:
            written |= _NONE.union(*operands)
        elif eqn.primitive in WRITES:
            written |= operands[0]
        found = _NONE.union(*operands) if passes_through(eqn) else _NONE
        if not foreign:
            for program, own in _programs(eqn, operands):
                inner = program.jaxpr
                _follow(inner, dict(zip(inner.invars, own, strict=True)), written)
        if found:
            known.update((v, found) for v in eqn.outvars)


def _programs(
    eqn: JaxprEqn, operands: Sequence[Arguments]
) -> list[tuple[ClosedJaxpr, Sequence[Arguments]]]:
    """The programs of an equation, with what their inputs may be."""
    if eqn.primitive is scan_p:
        if eqn.params["unroll"] >= eqn.params["length"]:  # No loop is left.
            return [(eqn.params["jaxpr"], operands)]
        consts, carries = eqn.params["num_consts"], eqn.params["num_carry"]
        carried = [_NONE] * carries
        own = [*operands[:consts], *carried, *operands[consts + carries :]]
        return [(eqn.params["jaxpr"], own)]
    if eqn.primitive is while_p:
        first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        carried = [_NONE] * (len(operands) - first - second)
        return [
            (eqn.params["cond_jaxpr"], [*operands[:first], *carried]),
            (eqn.params["body_jaxpr"], [*operands[first : first + second], *carried]),
        ]
    return [
        (program, operands[len(operands) - len(program.jaxpr.invars) :])
        for program in subjaxprs(eqn.params)
    ]
