"""How results are spread where no compiler of the backend decides it.

The rule kind ``spread`` says it for a primitive. Without a rule the results of an equation are whole on each device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.device import Sharding
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var
from plugjax.core.rules import RuleKind
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.spec import PartitionSpec

spread_rule: RuleKind[Callable[[Sequence[Any], JaxprEqn], Sequence[Any]]] = RuleKind(
    "spread",
    "(shardings of the operands, eqn) -> for each result its sharding, or None if each device has it whole",
)


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
    whole = NamedSharding(mesh, PartitionSpec())
    table = registry.table(spread_rule)
    env: dict[Var, Sharding] = dict(zip(jaxpr.jaxpr.invars, arguments, strict=True))

    def read(atom: Any) -> Sharding:
        return whole if isinstance(atom, Literal) else env.get(atom, whole)

    for eqn in jaxpr.eqns:
        rule = table.get(eqn.primitive)
        if rule is not None:
            found = rule([read(v) for v in eqn.invars], eqn)
            for var, sharding in zip(eqn.outvars, found, strict=True):
                if sharding is not None:
                    env[var] = sharding
    return [wanted or read(v) for wanted, v in zip(results, jaxpr.jaxpr.outvars, strict=True)]
