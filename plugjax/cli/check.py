"""``plugjax check``: what a backend would run on the host, found from the program alone."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table

from plugjax.cli.targets import load, lookup, parse_shapes
from plugjax.core import registry
from plugjax.core.jaxpr import Jaxpr, subjaxprs
from plugjax.core.rules import impl, lowering
from plugjax.core.transforms.compile import run_passes
from plugjax.core.transforms.jit import make_jaxpr


def missing_lowerings(jaxpr: Jaxpr, platform: str) -> Counter[str]:
    """Names of primitives without a lowering for ``platform``, with the number of equations."""
    table = registry.table(impl if platform == "numpy" else lowering, platform)
    found: Counter[str] = Counter()
    for eqn in jaxpr.eqns:
        if table.find(eqn.primitive) is None:
            found[eqn.primitive.name] += 1
        for sub in subjaxprs(eqn.params):
            found += missing_lowerings(sub.jaxpr, platform)
    return found


def run(console: Console, target: str, entries: list[str], backend: str) -> bool:
    """Print the report; returns whether everything has a lowering."""
    module = load(target)
    complete = True
    table = Table("function", "primitive", "equations on the host")
    for entry in entries:
        name, _, shapes = entry.partition("=")
        program = make_jaxpr(lookup(module, name))(*parse_shapes(shapes))
        found = missing_lowerings(run_passes(program, backend).jaxpr, backend)
        for primitive, count in sorted(found.items()):
            table.add_row(name, primitive, str(count))
            complete = False
    if complete:
        console.print(f"[green]every primitive has a lowering for {backend}[/green]")
    else:
        console.print(table)
    return complete
