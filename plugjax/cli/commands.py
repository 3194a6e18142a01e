"""Commands of plugins: entry points of the group ``plugjax.commands``.

The name of an entry point is the word on the command line. Its value is a function with the annotations of typer, or a
``typer.Typer`` with commands of its own. A command is imported when it is called, or when its help is shown. It may not
take the place of a command of plugjax, and it is left out while the environment blocks the plugins of its distribution.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from plugjax.extend import registry

GROUP = "plugjax.commands"


@dataclass(frozen=True)
class Declared:
    """A command that an installed distribution declares.

    Attributes:
        name: its word on the command line.
        entry: what imports it.
        refusal: why it is left out; empty if it is not.
    """

    name: str
    entry: EntryPoint
    refusal: str = ""

    @property
    def distribution(self) -> str:
        """Name and version of the distribution that brings it."""
        found = self.entry.dist
        return f"{found.name} {found.version}" if found is not None else ""

    def load(self) -> Any:
        """The command.

        Raises:
            ValueError: it cannot be imported, or is no command.
        """
        try:
            found = self.entry.load()
            # A group around it, as typer makes a single command of an application with one.
            parent = typer.Typer()
            parent.callback()(lambda: None)
            if isinstance(found, typer.Typer):
                parent.add_typer(found, name=self.name)
            else:
                parent.command(self.name)(found)
            return get_group(parent).commands[self.name]
        except Exception as error:
            raise ValueError(
                f"the command {self.name!r} of {self.distribution} cannot be loaded: {type(error).__name__}: {error}"
            ) from error


def declared(own: set[str]) -> dict[str, Declared]:
    """Commands by name, those that are left out too.

    Args:
        own: names of commands that no plugin may take.
    """
    blocked = _blocked_distributions()
    found: dict[str, Declared] = {}
    entries = importlib.metadata.entry_points(group=GROUP)
    for entry in sorted(entries, key=lambda e: (e.name, e.dist.name if e.dist else "")):
        name = entry.dist.name if entry.dist else ""
        if entry.name in own:
            found[entry.name] = Declared(entry.name, entry, "plugjax has a command of this name")
        elif entry.name not in found:
            why = "blocked by the environment" if name in blocked else ""
            found[entry.name] = Declared(entry.name, entry, why)
    return found


def _blocked_distributions() -> set[str]:
    plugins = registry.active().plugins
    return {p.distribution for p in plugins if p.blocked} - {
        p.distribution for p in plugins if not p.blocked
    }


class Commands(TyperGroup):
    """The commands of plugjax, then those of plugins."""

    def plugin_commands(self) -> dict[str, Declared]:
        """What plugins declare, by name."""
        return declared(set(self.commands))

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of commands that can be called."""
        others = [n for n, found in self.plugin_commands().items() if not found.refusal]
        return [*super().list_commands(ctx), *others]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by name, imported if it is a plugin's."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = self.plugin_commands().get(cmd_name)
        if found is None or found.refusal:
            return None
        try:
            return found.load()
        except ValueError as error:
            return _broken(cmd_name, str(error))


def _broken(name: str, why: str) -> Any:
    """A command that says why it cannot be loaded, so that the others are still listed."""
    app = typer.Typer()
    app.callback()(lambda: None)

    @app.command(
        name, help=why, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
    )
    def refuse() -> None:
        raise ValueError(why)

    return get_group(app).commands[name]
