"""``plugjax devices``: the devices of all installed backends."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from plugjax.cli.terminal import console
from plugjax.extend import registry
from plugjax.extend.backend import get_backend
from plugjax.extend.errors import UnknownBackendError


def command() -> None:
    """List the devices of all installed backends."""
    table = Table("device", "backend", "description")
    for name in sorted(registry.active().backends()):
        try:
            for device in get_backend(name).devices():
                table.add_row(str(device), name, device.description)
        except UnknownBackendError as error:
            table.add_row("-", name, escape(str(error)))
    console.print(table)
