"""From programs with references to programs of values.

A reference stands for a mutable array. In a pure program its value is passed on instead: what writes to it gives the new value,
and the equations after it read that. Backends get pure programs only.

A transformation leaves a reference alone as long as nothing of its own is in it: derivatives of a loop that writes a plain
reference write it too. A structured equation whose reference holds something of the trace's own (tangents, a batch axis), and one
that is evaluated, is computed on values: read, run the pure form, write. So the rules of loops, branches and calls need to know
nothing about references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from plugjax.core import registry
from plugjax.core.aval import AbstractReference
from plugjax.core.effects import Effect
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var, memoise
from plugjax.core.primitive import Primitive, state
from plugjax.core.rules import RuleKind
from plugjax.transforms.expansion import expand_rule, expanded
from plugjax.transforms.staging import no_references, stage

Discharged: TypeAlias = tuple[Sequence[Any], Sequence[Any]]

discharge_rule: RuleKind[Callable[..., Discharged]] = RuleKind(
    "discharge",
    "(marked, operands, **params) -> (results, new values of the marked operands): marked operands are references, and come "
    "as their values; a result that is a reference is given as its value",
)


class ReferenceEffect(Effect):
    """A reference is made, read or written."""


def is_reference(x: Any) -> bool:
    """Whether a value, tracer or variable is a reference."""
    return isinstance(getattr(x, "aval", None), AbstractReference)


def has_references(jaxpr: ClosedJaxpr) -> bool:
    """Whether a program makes, reads or writes references."""
    return any(isinstance(effect, ReferenceEffect) for effect in jaxpr.effects)


def discharge(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program without references: a pass."""
    if not has_references(jaxpr):
        return jaxpr
    return discharged(jaxpr, (False,) * len(jaxpr.in_avals))


def discharged(jaxpr: ClosedJaxpr, marked: Sequence[bool]) -> ClosedJaxpr:
    """A program of the values of some of its references; memoised.

    Args:
        jaxpr: ``x -> y``.
        marked: which inputs are references that become values.

    Returns:
        ``x -> (y, new values of the marked inputs)``. References that are made within are gone as well.
    """
    marks = tuple(marked)

    def make() -> ClosedJaxpr:
        avals = [
            v.aval.inner_aval if m else v.aval  # type: ignore[attr-defined]  # of a reference
            for v, m in zip(jaxpr.jaxpr.invars, marks, strict=True)
        ]
        return stage(lambda *xs: _run(jaxpr, marks, xs), avals, jaxpr.jaxpr.debug_name)

    found: ClosedJaxpr = memoise(jaxpr, ("discharge", marks), make)
    return found


def _run(jaxpr: ClosedJaxpr, marks: Sequence[bool], args: Sequence[Any]) -> list[Any]:
    inner = jaxpr.jaxpr
    env: dict[Any, Any] = dict(zip(inner.constvars, jaxpr.consts, strict=True))
    env.update(zip(inner.invars, args, strict=True))
    # References whose values the environment holds.
    held = {v for v, m in zip(inner.invars, marks, strict=True) if m}
    outer = state.source
    try:
        for eqn in inner.eqns:
            state.source = eqn.source or outer
            _step(eqn, env, held)
    finally:
        state.source = outer
    outs = [v.val if type(v) is Literal else env[v] for v in inner.outvars]
    return [*outs, *(env[v] for v in inner.invars if v in held)]


def _step(eqn: JaxprEqn, env: dict[Any, Any], held: set[Var]) -> None:
    """Compute an equation on the values of the references that the environment holds."""
    operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
    marked = [v in held for v in eqn.invars]
    check_distinct(eqn.primitive, [v for v, m in zip(eqn.invars, marked, strict=True) if m])
    params = eqn.params
    makes = any(isinstance(v.aval, AbstractReference) for v in eqn.outvars)
    if any(marked) or makes:
        results, values = pure_form(eqn, marked)(operands)
        env.update(
            zip((v for v, m in zip(eqn.invars, marked, strict=True) if m), values, strict=True)
        )
        held.update(v for v in eqn.outvars if isinstance(v.aval, AbstractReference))
        env.update(zip(eqn.outvars, results, strict=True))
        return
    if eqn.primitive.structured:
        params = {key: _pure(value) for key, value in params.items()}
    result = eqn.primitive.bind(*operands, **params)
    env.update(
        zip(eqn.outvars, result if eqn.primitive.multiple_results else [result], strict=True)
    )


def _pure(value: Any) -> Any:
    """A parameter, without references that its programs make for themselves."""
    if isinstance(value, ClosedJaxpr):
        return discharge(value)
    if isinstance(value, tuple) and any(isinstance(item, ClosedJaxpr) for item in value):
        return tuple(_pure(item) for item in value)
    return value


def pure_form(eqn: JaxprEqn, marked: Sequence[bool]) -> Callable[[Sequence[Any]], Discharged]:
    """The results of an equation and the new values of its marked operands, as a function of values."""
    rule = registry.table(discharge_rule).get(eqn.primitive)
    if rule is not None:
        return lambda operands: rule(marked, operands, **eqn.params)
    expand = registry.table(expand_rule).get(eqn.primitive)
    if expand is None:
        return lambda operands: refuse(eqn.primitive, operands)
    program = expanded(expand(**eqn.params), eqn)

    def run(operands: Sequence[Any]) -> Discharged:
        found = _run(program, marked, operands)
        count = len(eqn.outvars)
        return found[:count], found[count:]

    return run


def check_distinct(primitive: Primitive, references: Sequence[Any]) -> None:
    """Raise if a reference comes twice: which of its two new values is the last one, nothing says.

    Raises:
        ValueError: it does.
    """
    if len({id(x) for x in references}) < len(references):
        raise ValueError(
            "only one reference to a mutable array may be passed as an argument to a function, but one came to "
            f"{primitive.name} twice."
        )


def has_pure_form(primitive: Primitive) -> bool:
    """Whether a structured primitive is computed on values of references; calls with rules of the user's take the references."""
    return primitive in registry.table(discharge_rule)


def refuse(primitive: Primitive, operands: Sequence[Any]) -> Any:
    """Raise for a primitive that takes no references.

    Raises:
        TypeError: always.
    """
    raise TypeError(no_references(primitive.name, [getattr(x, "aval", type(x)) for x in operands]))


def with_references(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Compute a primitive on the values of all references among its operands.

    Raises:
        TypeError: the primitive takes no references.
    """
    return with_values(primitive, args, params, [is_reference(x) for x in args])


def with_values(
    primitive: Primitive, args: Sequence[Any], params: dict[str, Any], marked: Sequence[bool]
) -> Any:
    """Compute a structured primitive on the values of some of its references, under the current trace, and write them back.

    Raises:
        TypeError: the primitive takes no references.
    """
    rule = registry.table(discharge_rule).get(primitive)
    if rule is None:
        return refuse(primitive, args)
    check_distinct(primitive, [x for x in args if is_reference(x)])
    operands = [x[...] if m else x for x, m in zip(args, marked, strict=True)]
    results, values = rule(marked, operands, **params)
    for x, value in zip((x for x, m in zip(args, marked, strict=True) if m), values, strict=True):
        x[...] = value
    return list(results)
