"""How results are spread where no compiler of the backend decides it.

The rule kind ``spread`` says it for a primitive. Without a rule the results of an equation are whole on each device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.device import Sharding
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var, memoise, programs_in
from plugjax.core.rules import RuleKind
from plugjax.meshes.mesh import AbstractMesh
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.spec import PartitionSpec

spread_rule: RuleKind[Callable[[Sequence[Any], JaxprEqn], Sequence[Any]]] = RuleKind(
    "spread",
    "(shardings of the operands, eqn) -> for each result its sharding, or None if each device has it whole",
)

inner_spread_rule: RuleKind[
    Callable[[Sequence[Any], JaxprEqn], Sequence[tuple[ClosedJaxpr, Sequence[Sharding]]]]
] = RuleKind(
    "inner spread",
    "(shardings of the operands, eqn) -> the programs that the equation runs, each with the shardings of its arguments",
)

told_rule: RuleKind[Callable[..., None]] = RuleKind(
    "told", "(sharding of the operand, **params) -> None, when the program is compiled"
)

Read = Callable[[Any], Sharding]


def result_shardings(
    jaxpr: ClosedJaxpr,
    mesh: Any,
    arguments: Sequence[Sharding],
    results: Sequence[Sharding | None],
) -> list[Sharding]:
    """How the results of a program are spread.

    Args:
        jaxpr: the program.
        mesh: its mesh.
        arguments: how its arguments are spread.
        results: what the user asked for.
    """
    read = _spreads(jaxpr, mesh, arguments)
    return [wanted or read(v) for wanted, v in zip(results, jaxpr.jaxpr.outvars, strict=True)]


def tell_shardings(jaxpr: ClosedJaxpr, mesh: Any, arguments: Sequence[Sharding]) -> None:
    """Tell how values of a program are spread to the equations that ask for it; arguments as above."""
    if not _asks(jaxpr):
        return
    told, inner = registry.table(told_rule), registry.table(inner_spread_rule)
    read = _spreads(jaxpr, mesh, arguments)
    for eqn in jaxpr.eqns:
        if (tell := told.get(eqn.primitive)) is not None:
            tell(read(eqn.invars[0]), **eqn.params)
        if (rule := inner.get(eqn.primitive)) is not None:
            for program, given in rule([read(v) for v in eqn.invars], eqn):
                tell_shardings(program, mesh, given)


def tell_one_sharding(jaxpr: ClosedJaxpr, sharding: Sharding) -> None:
    """Tell equations that ask for shardings that all values of a program have one."""
    if not _asks(jaxpr):
        return
    told = registry.table(told_rule)
    for eqn in jaxpr.eqns:
        if (tell := told.get(eqn.primitive)) is not None:
            tell(sharding, **eqn.params)
        for program in programs_in(eqn.params):
            tell_one_sharding(program, sharding)


def _asks(jaxpr: ClosedJaxpr) -> bool:
    """Whether an equation asks for a sharding; memoised, as a program may be called in many places."""

    def find() -> bool:
        told = registry.table(told_rule)
        return any(
            eqn.primitive in told or any(map(_asks, programs_in(eqn.params))) for eqn in jaxpr.eqns
        )

    found: bool = memoise(jaxpr, "asks for shardings", find)
    return found


def _spreads(jaxpr: ClosedJaxpr, mesh: Any, arguments: Sequence[Sharding]) -> Read:
    """From a variable or literal of a program to how it is spread."""
    whole = NamedSharding(mesh, PartitionSpec())
    table = registry.table(spread_rule)
    env: dict[Var, Sharding] = dict(zip(jaxpr.jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> Sharding:
        held = getattr(atom.aval, "spread", None)
        if held is not None:
            return held.over(mesh)  # type: ignore[no-any-return]  # a NamedSharding over an abstract mesh
        return whole if isinstance(atom, Literal) else env.get(atom, whole)

    def placed(sharding: Sharding) -> Sharding:
        if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh):
            return sharding.over(mesh)
        return sharding

    for eqn in jaxpr.eqns:
        rule = table.get(eqn.primitive)
        if rule is not None:
            found = rule([read(v) for v in eqn.invars], eqn)
            pairs = zip(eqn.outvars, found, strict=True)
            env.update({var: placed(sharding) for var, sharding in pairs if sharding is not None})
    return read


def spread_by(like: NamedSharding, entries: Sequence[tuple[Any, ...]], shape: Sequence[int]) -> Any:
    """The sharding with given cuts, without those that an axis of the mesh makes twice or that are uneven."""
    sizes = dict(like.mesh.shape_tuple)
    used: set[Any] = set()
    kept: list[Any] = []
    for names, size in zip(entries, shape, strict=True):
        known = used.isdisjoint(names) and sizes.keys() >= set(names)
        fits = known and size % math.prod(sizes[name] for name in names) == 0
        used.update(names if fits else ())
        kept.append(tuple(names) if fits and names else None)
    while kept and kept[-1] is None:
        kept.pop()
    return NamedSharding(like.mesh, PartitionSpec(*kept))


def elementwise_spread(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
    """Results are spread as the operands of their shape are."""
    found = []
    for out in eqn.outvars:
        shape = out.aval.shape
        entries: list[tuple[Any, ...]] = [()] * len(shape)
        for sharding, var in zip(operands, eqn.invars, strict=True):
            if var.aval.ndim == len(shape):
                own = sharding.entries(len(shape))
                entries = [
                    a or (b if n == m else ())
                    for a, b, n, m in zip(entries, own, var.aval.shape, shape, strict=True)
                ]
        found.append(spread_by(operands[0], entries, shape) if operands else None)
    return found
