"""``plugjax check``: which primitives of a program a backend runs on the host. Nothing is compiled."""

from __future__ import annotations

import importlib
from collections import Counter

from rich.console import Console
from rich.table import Table

from plugjax.cli.targets import load, lookup, parse_shapes
from plugjax.extend import registry
from plugjax.extend.backend import get_backend
from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Var, programs_in
from plugjax.extend.errors import LoweringError
from plugjax.extend.execution import make_jaxpr, run_passes
from plugjax.extend.rules import impl, lowering


def host_equations(jaxpr: Jaxpr, backend: str) -> Counter[str]:
    """Primitives that ``backend`` computes by calling Python or cannot compute, with the number of their equations.

    An export refuses the same primitives.
    """
    by_lowering = "stablehlo" in get_backend(backend).dialects
    table = registry.table(lowering if by_lowering else impl, backend)
    found: Counter[str] = Counter()
    for eqn in jaxpr.eqns:
        inner = list(programs_in(eqn.params))
        for sub in inner:
            found += host_equations(sub.jaxpr, backend)
        if table.find(eqn.primitive) is None or (
            by_lowering and not inner and _needs_python(eqn, backend)
        ):
            found[eqn.primitive.name] += 1
    return found


def _needs_python(eqn: JaxprEqn, backend: str) -> bool:
    """Whether the lowering of an equation calls Python. A lowering rule alone does not tell."""
    lower = importlib.import_module("plugjax.stablehlo.lower")
    operands = list(dict.fromkeys(v for v in eqn.invars if isinstance(v, Var)))
    try:
        lower.lower_module(
            ClosedJaxpr(Jaxpr([], operands, eqn.outvars, [eqn]), []), backend, name="f"
        )
    except LoweringError:
        return True
    return False


def run(console: Console, target: str, entries: list[str], backend: str) -> bool:
    """Print the report; returns whether everything has a lowering.

    Raises:
        UnknownBackendError: there is no such backend.
    """
    backend = get_backend(backend).name
    module = load(target)
    complete = True
    table = Table("function", "primitive", "equations on the host")
    for entry in entries:
        name, _, shapes = entry.partition("=")
        program = make_jaxpr(lookup(module, name))(*parse_shapes(shapes))
        found = host_equations(run_passes(program, backend).jaxpr, backend)
        for primitive, count in sorted(found.items()):
            table.add_row(name, primitive, str(count))
            complete = False
    if complete:
        console.print(f"[green]every primitive has a lowering for {backend}[/green]")
    else:
        console.print(table)
    return complete
