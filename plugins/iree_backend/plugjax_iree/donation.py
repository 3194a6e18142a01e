"""Which result may be written into the memory of which donated argument.

IREE 3.13 writes a result where it is told to, whoever still reads the argument: ``(a, b) -> (b, a)`` gave ``b`` twice. So a result gets
the memory of an argument only if every reader of the argument is done by then, or reads the element that it writes: all readers lead to
the operation that gives the result, which is elementwise or an update; and none of them is fused with it, unless it and what stands
between them is elementwise, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plugjax import lax
from plugjax.core import ClosedJaxpr, Literal, Primitive
from plugjax.core.jaxpr import Jaxpr, JaxprEqn, Var
from plugjax.core.vocabulary import convert_element_type_p, select_n_p
from plugjax.lax import arithmetic, comparison, exponential, reduction, trigonometric
from plugjax.lax.complex import complex_p, conj_p, imag_p, real_p
from plugjax.lax.random_bits import multiply_add_p
from plugjax_iree.overwriting import WRITES


def _primitives(*modules: object) -> frozenset[Primitive]:
    return frozenset(v for m in modules for v in vars(m).values() if isinstance(v, Primitive))


# Element by element: what is fused of them reads an element before it writes it.
_LOCAL = _primitives(arithmetic, comparison, exponential, trigonometric) | {
    complex_p,
    conj_p,
    convert_element_type_p,
    imag_p,
    lax.clamp_p,
    lax.erf_p,
    multiply_add_p,
    real_p,
    select_n_p,
}

# What is computed as a whole before anybody reads it, and is fused with what comes before and after it, but not further.
_WHOLE = _primitives(reduction) | {
    lax.conv_general_dilated_p,
    lax.dot_general_p,
    lax.reduce_p,
    lax.scan_p,
    lax.sort_p,
    lax.top_k_p,
    lax.while_p,
}


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


def reused_arguments(jaxpr: ClosedJaxpr, donated: Sequence[int]) -> dict[int, int | None]:
    """For donated arguments, the results that are written into their memory."""
    if not donated:
        return {}
    program = jaxpr.jaxpr
    results = _results(program)
    readers: dict[Var, list[JaxprEqn]] = {}
    for eqn in program.eqns:
        for v in eqn.invars:
            if not isinstance(v, Literal):
                readers.setdefault(v, []).append(eqn)
    found: dict[int, int | None] = {}
    for index in donated:
        argument = program.invars[index]
        if argument in program.outvars:
            continue
        aval = argument.aval.strip_weak_type()
        for k, result in results.items():
            if program.outvars[k].aval.strip_weak_type() == aval and _may_replace(
                argument, result, readers.get(argument, [])
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
        if eqn.primitive in _LOCAL or eqn.primitive in WRITES:
            found[k] = _Result(eqn, _before(eqn, producers), _read_elsewhere(eqn, producers))
    return found


def _may_replace(argument: Var, result: _Result, readers: Sequence[JaxprEqn]) -> bool:
    """Whether a result may be written over an argument."""
    last = result.eqn
    if last.primitive in WRITES and (
        last.invars[0] is not argument or any(v is argument for v in last.invars[1:])
    ):
        return False
    if any(eqn is not last and id(eqn) not in result.before for eqn in readers):
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
            if eqn.primitive in _WHOLE:
                whole, local = whole + 1, False
                if whole == 2:
                    continue
            elif eqn.primitive not in _LOCAL:
                local = False
        for v in eqn.invars:
            if isinstance(v, Literal):
                continue
            if not local:
                found.add(v)
            if (producer := producers.get(v)) is not None:
                pending.append((producer, local, whole))
    return frozenset(found)
