"""Which result may be written into the memory of which donated argument.

IREE 3.13 writes a result where it is told to, even if the argument there is read later: ``(a, b) -> (b, a)`` gave ``b`` twice. So a result gets
the memory of an argument only if every user of the argument is done by then, or reads the element that it writes: all users lead to
the operation that gives the result, which is elementwise or an update; and none of them is fused with it, unless it and what stands
between them is elementwise, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from plugjax.extend.execution import Storage, storage_of

_NOTHING = Storage(0)


def _known(eqn: JaxprEqn) -> Storage:
    """What an equation does with memory; a primitive without a rule is neither local nor computed as a whole."""
    return storage_of(eqn) or _NOTHING


@dataclass(frozen=True)
class _Result:
    """What writing a result over an argument depends on.

    Attributes:
        eqn: the equation that gives the result.
        before: identities of the equations that it needs.
        elsewhere: values of which something that may be fused with it reads other elements than it writes.
    """

    eqn: JaxprEqn
    before: frozenset[int]
    elsewhere: frozenset[Var]


def apply(jaxpr: ClosedJaxpr, donated: Sequence[int]) -> dict[int, int | None]:
    """For donated arguments, the results that may be written into their memory."""
    if not donated:
        return {}
    program = jaxpr.jaxpr
    results = _results(program)
    users: dict[Var, list[JaxprEqn]] = {}
    for eqn in program.eqns:
        for v in eqn.invars:
            if not isinstance(v, Literal):
                users.setdefault(v, []).append(eqn)
    found: dict[int, int | None] = {}
    for index in donated:
        argument = program.invars[index]
        if argument in program.outvars:
            continue
        aval = argument.aval.strip_weak_type()
        for k, result in results.items():
            if program.outvars[k].aval.strip_weak_type() == aval and _may_replace(
                argument, result, users.get(argument, [])
            ):
                found[index] = k
                del results[k]
                break
    return found


def _results(program: Jaxpr) -> dict[int, _Result]:
    """By position, the results that may be written over an argument at all."""
    producers = {v: eqn for eqn in program.eqns for v in eqn.outvars}
    found = {}
    for k, out in enumerate(program.outvars):
        eqn = None if isinstance(out, Literal) else producers.get(out)
        if eqn is None or program.outvars.count(out) > 1:
            continue
        if _known(eqn) & (Storage.LOCAL | Storage.WRITES):
            found[k] = _Result(eqn, _before(eqn, producers), _read_elsewhere(eqn, producers))
    return found


def _may_replace(argument: Var, result: _Result, users: Sequence[JaxprEqn]) -> bool:
    """Whether a result may be written over an argument."""
    last = result.eqn
    if Storage.WRITES in _known(last) and (
        last.invars[0] is not argument or any(v is argument for v in last.invars[1:])
    ):
        return False
    if any(eqn is not last and id(eqn) not in result.before for eqn in users):
        return False
    return argument not in result.elsewhere


def _before(last: JaxprEqn, producers: Mapping[Var, JaxprEqn]) -> frozenset[int]:
    """The equations that an equation needs."""
    found: set[int] = set()
    pending = [last]
    while pending:
        for v in pending.pop().invars:
            eqn = None if isinstance(v, Literal) else producers.get(v)
            if eqn is not None and id(eqn) not in found:
                found.add(id(eqn))
                pending.append(eqn)
    return frozenset(found)


def _read_elsewhere(last: JaxprEqn, producers: Mapping[Var, JaxprEqn]) -> frozenset[Var]:
    """Of which values something that may be fused with an equation reads other elements than it writes."""
    # An equation, whether only elementwise ones stand between, and how many that are computed as a whole.
    pending = [(last, True, 0)]
    seen = set()
    found: set[Var] = set()
    while pending:
        eqn, local, whole = pending.pop()
        if (id(eqn), local, whole) in seen:
            continue
        seen.add((id(eqn), local, whole))
        if eqn is not last:
            if Storage.WHOLE in _known(eqn):
                whole, local = whole + 1, False
                if whole == 2:
                    continue
            elif Storage.LOCAL not in _known(eqn):
                local = False
        for v in eqn.invars:
            if isinstance(v, Literal):
                continue
            if not local:
                found.add(v)
            if (producer := producers.get(v)) is not None:
                pending.append((producer, local, whole))
    return frozenset(found)
