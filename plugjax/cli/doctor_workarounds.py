"""``plugjax doctor --workarounds``: what the backends work around in their compilers, and whether it is in force."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plugjax.extend import registry
from plugjax.extend.backend import get_backend
from plugjax.extend.errors import UnknownBackendError


def run(console: Console) -> None:
    """Print one table for each backend that has workarounds."""
    found = False
    for name in sorted(registry.active().backends()):
        try:
            rows = get_backend(name).workarounds()
        except UnknownBackendError as error:
            console.print(f"[red]{escape(str(error))}[/red]")
            continue
        if rows:
            found = True
            console.print(_table(name, rows))
    if not found:
        console.print("no installed backend works around anything")


def _table(backend: str, rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(title=f"worked around by backend {backend}")
    for column in (
        "workaround",
        "stage",
        "defect",
        "without it",
        "last seen",
        "installed",
        "state",
    ):
        # Names stay in one line: they are what a person copies.
        table.add_column(column, no_wrap=column in ("workaround", "state"))
    for *cells, state in rows:
        shown = "on" if state == "on" else f"[yellow]{escape(state)}[/yellow]"
        table.add_row(*map(escape, cells), shown)
    return table
