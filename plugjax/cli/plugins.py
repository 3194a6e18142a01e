"""``plugjax plugins``: where plugins come from, what they provide, their errors, and their commands."""

from __future__ import annotations

import typer
from rich.markup import escape
from rich.table import Table

from plugjax.cli.commands import Commands
from plugjax.cli.terminal import console
from plugjax.extend import registry


def command(context: typer.Context) -> None:
    """List plugins: where they come from, what they provide, and their errors."""
    table = Table("plugin", "distribution", "provides", "state")
    for plugin in registry.active().plugins:
        state = "loaded"
        if plugin.blocked:
            state = "blocked by the environment"
        elif plugin.error is not None:
            state = escape(f"skipped: {type(plugin.error).__name__}: {plugin.error}")
        elif plugin.faults:
            state = f"loaded, failed in {', '.join(plugin.faults)}"
        source = f"{plugin.distribution} {plugin.version}".strip()
        table.add_row(plugin.name, source, ", ".join(plugin.provides), state)
    console.print(table)
    group = context.find_root().command
    if isinstance(group, Commands):
        _print_commands(group)


def _print_commands(group: Commands) -> None:
    table = Table("command", "distribution", "state")
    for name, found in group.plugin_commands().items():
        state = f"left out: {found.refusal}" if found.refusal else "offered"
        table.add_row(f"plugjax {name}", found.distribution, state)
    if table.row_count:
        console.print(table)
