"""A pass: programs in place of equations that stand for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, memoise, programs_in
from plugjax.core.primitive import Primitive

Called: TypeAlias = Callable[[Mapping[str, Any]], ClosedJaxpr | None]


def inlined(jaxpr: ClosedJaxpr, calls: Mapping[Primitive, Called]) -> ClosedJaxpr:
    """The program without some calls, in bodies of loops and branches too; memoised.

    Args:
        jaxpr: the program.
        calls: by primitive, which program the parameters of an equation stand for; its arguments are the last operands. Equations for which
            there is none stay. Functions that are equal give equal programs.
    """
    key = ("inlined", *calls.items())
    found: ClosedJaxpr = memoise(jaxpr, key, lambda: _inlined(jaxpr, calls))
    return found


def _holds_calls(jaxpr: ClosedJaxpr, calls: Mapping[Primitive, Called]) -> bool:
    return any(
        eqn.primitive in calls or any(_holds_calls(p, calls) for p in programs_in(eqn.params))
        for eqn in jaxpr.jaxpr.eqns
        if eqn.primitive.structured
    )


def _inlined(jaxpr: ClosedJaxpr, calls: Mapping[Primitive, Called]) -> ClosedJaxpr:
    if not _holds_calls(jaxpr, calls):
        return jaxpr
    inner = jaxpr.jaxpr
    constants = list(zip(inner.constvars, jaxpr.consts, strict=True))
    eqns: list[JaxprEqn] = []
    env: dict[Any, Any] = {}
    _write(inner, env, eqns, constants, calls)
    outvars = [env.get(v, v) if isinstance(v, Var) else v for v in inner.outvars]
    made = Jaxpr([v for v, _ in constants], inner.invars, outvars, eqns, inner.debug_name)
    return ClosedJaxpr(made, [value for _, value in constants])


def _write(
    jaxpr: Jaxpr,
    env: dict[Any, Any],
    eqns: list[JaxprEqn],
    constants: list[tuple[Var, Any]],
    calls: Mapping[Primitive, Called],
) -> None:
    """Write a program's equations; ``env`` says what its variables are called, where that differs."""
    for eqn in jaxpr.eqns:
        operands = [env.get(v, v) if isinstance(v, Var) else v for v in eqn.invars]
        called = calls[eqn.primitive](eqn.params) if eqn.primitive in calls else None
        if called is None:
            params = {key: _param(value, calls) for key, value in eqn.params.items()}
            outvars = [env.get(v, v) for v in eqn.outvars]
            eqns.append(eqn.replace(invars=operands, outvars=outvars, params=params))
            continue
        arguments = operands[len(operands) - len(called.jaxpr.invars) :]
        within: dict[Any, Any] = dict(zip(called.jaxpr.invars, arguments, strict=True))
        # A program may be called twice, and each variable is bound once.
        for var, value in zip(called.jaxpr.constvars, called.consts, strict=True):
            within[var] = Var(var.aval)
            constants.append((within[var], value))
        within.update({v: type(v)(v.aval) for inner in called.jaxpr.eqns for v in inner.outvars})
        _write(called.jaxpr, within, eqns, constants, calls)
        results = [within[v] if isinstance(v, Var) else v for v in called.jaxpr.outvars]
        env.update(zip(eqn.outvars, results, strict=True))


def _param(value: Any, calls: Mapping[Primitive, Called]) -> Any:
    if isinstance(value, ClosedJaxpr):
        return inlined(value, calls)
    if isinstance(value, tuple) and any(isinstance(v, ClosedJaxpr) for v in value):
        return tuple(_param(v, calls) for v in value)
    return value
