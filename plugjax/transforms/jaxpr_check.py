"""The jaxpr checker: every variable bound once and before use, every equation's avals as its rules say.

Runs after each pass when ``config.enable_checks`` is set, as the tests do.
"""

from __future__ import annotations

from plugjax.core import registry
from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, programs_in
from plugjax.core.rules import abstract_eval


class JaxprTypeError(TypeError):
    """A jaxpr breaks an invariant: the pass that made it is wrong."""


def check_jaxpr(jaxpr: ClosedJaxpr | Jaxpr) -> None:
    """Check a program and all programs inside it.

    Raises:
        JaxprTypeError: names the equation and what is wrong with it.
    """
    if isinstance(jaxpr, ClosedJaxpr):
        if len(jaxpr.consts) != len(jaxpr.jaxpr.constvars):
            raise JaxprTypeError(
                f"{len(jaxpr.jaxpr.constvars)} constvars, {len(jaxpr.consts)} constants"
            )
        jaxpr = jaxpr.jaxpr
    bound: set[Var] = set()

    def bind(var: Var, where: str) -> None:
        if var in bound:
            raise JaxprTypeError(f"{where}: {var} is bound twice")
        bound.add(var)

    def read(atom: Atom, where: str) -> ShapedArray:
        if not isinstance(atom, Literal) and atom not in bound:
            raise JaxprTypeError(f"{where}: {atom} is used before it is bound")
        return atom.aval

    for var in (*jaxpr.constvars, *jaxpr.invars):
        bind(var, "binder")
    for number, eqn in enumerate(jaxpr.eqns):
        where = f"equation {number} ({eqn.primitive.name})"
        avals = [read(v, where) for v in eqn.invars]
        _check_eqn(eqn, avals, where)
        for sub in programs_in(eqn.params):
            check_jaxpr(sub)
        for var in eqn.outvars:
            bind(var, where)
    for atom in jaxpr.outvars:
        read(atom, "output")


def _check_eqn(eqn: JaxprEqn, avals: list[ShapedArray], where: str) -> None:
    try:
        hash(tuple(eqn.params.values()))
    except TypeError as error:
        raise JaxprTypeError(f"{where}: parameters are not hashable: {error}") from None
    result = registry.table(abstract_eval)[eqn.primitive](*avals, **eqn.params)
    expected = list(result) if eqn.primitive.multiple_results else [result]
    found = [v.aval for v in eqn.outvars]
    if [(a.shape, a.dtype) for a in expected] != [(a.shape, a.dtype) for a in found]:
        raise JaxprTypeError(
            f"{where}: outputs are {found}, the abstract evaluation says {expected}"
        )
