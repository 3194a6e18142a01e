"""Arguments that IREE would overwrite.

IREE 3.13 updates a value in place if nothing reads it afterwards, even if it is an argument, which belongs to the caller
(iree-org/iree, issue 16168). An argument that such an update may reach is copied first, unless it is donated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, programs_in
from plugjax.extend.execution import Storage, storage_of
from plugjax.lax.control_flow import scan_p, while_p
from plugjax.lax.conversion import copy_p
from plugjax_iree.workarounds.foreign import is_foreign
from plugjax_iree.workarounds.shared_results import passes_through

Arguments = frozenset[int]
_NONE: Arguments = frozenset()


def apply(jaxpr: ClosedJaxpr, donated: Sequence[int]) -> ClosedJaxpr:
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
    """Add to ``written`` the arguments that a program may write; ``held`` has those that each input may be."""
    known = dict(held)
    for eqn in jaxpr.eqns:
        operands = [_NONE if isinstance(v, Literal) else known.get(v, _NONE) for v in eqn.invars]
        found = storage_of(eqn)
        described = found is not None or eqn.primitive.structured
        foreign = is_foreign(eqn.primitive) or not described
        if foreign:
            written |= _NONE.union(*operands)
        elif found is not None and Storage.WRITES in found:
            written |= operands[0]
        passed = _NONE.union(*operands) if passes_through(eqn) else _NONE
        if not foreign:
            for program, own in _programs(eqn, operands):
                inner = program.jaxpr
                _follow(inner, dict(zip(inner.invars, own, strict=True)), written)
        if passed:
            known.update((v, passed) for v in eqn.outvars)


def _programs(
    eqn: JaxprEqn, operands: Sequence[Arguments]
) -> list[tuple[ClosedJaxpr, Sequence[Arguments]]]:
    """The programs of an equation, each with the arguments that its inputs may be."""
    if eqn.primitive is scan_p:
        if eqn.params["unroll"] >= eqn.params["length"]:  # It is unrolled.
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
        for program in programs_in(eqn.params)
    ]
