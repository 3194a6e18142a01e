"""How results are spread where no compiler of the backend decides it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.core.device import Sharding
from plugjax.core.jaxpr import ClosedJaxpr, Var
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.spec import PartitionSpec


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
    env: dict[Var, Sharding] = dict(zip(jaxpr.jaxpr.invars, arguments, strict=True))
    for eqn in jaxpr.eqns:
        sharding = eqn.params.get("sharding")
        if isinstance(sharding, Sharding):
            env[eqn.outvars[0]] = sharding
    return [
        wanted or env.get(v, whole) if isinstance(v, Var) else (wanted or whole)
        for wanted, v in zip(results, jaxpr.jaxpr.outvars, strict=True)
    ]
