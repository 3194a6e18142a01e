"""``plugjax check``: what a backend would run on the host, found from the program alone."""

from __future__ import annotations

import importlib
from collections import Counter

from rich.console import Console
from rich.table import Table

from plugjax.cli.targets import load, lookup, parse_shapes
from plugjax.core import registry
from plugjax.core.backend import get_backend
from plugjax.core.errors import LoweringError
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, subjaxprs
from plugjax.core.rules import impl, lowering
from plugjax.core.transforms.compile import run_passes
from plugjax.core.transforms.jit import make_jaxpr


def host_equations(jaxpr: Jaxpr, backend: str) -> Counter[str]:
    """Names of primitives that ``backend`` computes by calling Python, or not at all, with the number of equations.

    An export refuses the same ones.
    """
    by_lowering = "stablehlo" in get_backend(backend).dialects
    table = registry.table(lowering if by_lowering else impl, backend)
    found: Counter[str] = Counter()
    for eqn in jaxpr.eqns:
        inner = list(subjaxprs(eqn.params))
        for sub in inner:
            found += host_equations(sub.jaxpr, backend)
        if table.find(eqn.primitive) is None or (
            by_lowering and not inner and _needs_python(eqn, backend)
        ):
            found[eqn.primitive.name] += 1
    return found


def _needs_python(eqn: JaxprEqn, backend: str) -> bool:
    """Whether the lowering of an equation is a call of Python: a rule alone does not tell."""
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
