"""The reference page of the commands, from the command line's own declarations."""

from __future__ import annotations

from collections.abc import Iterator

import click
import typer.main

from plugjax.cli.main import app
from plugjax.docs.docstrings import inline
from plugjax.docs.pages import Page, heading, table


def commands() -> dict[str, click.Command]:
    """Commands by their words, as ``cache list``."""
    found: dict[str, click.Command] = {}

    def walk(prefix: str, command: click.Command) -> None:
        if isinstance(command, click.Group):
            for name, inner in sorted(command.commands.items()):
                walk(f"{prefix} {name}".strip(), inner)
        else:
            found[prefix] = command

    walk("", typer.main.get_command(app))
    return found


def _parameter(parameter: click.Parameter) -> tuple[str, str, str]:
    record = parameter.to_info_dict()
    words = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if isinstance(parameter, click.Argument):
        words = f"`{parameter.human_readable_name}`"
    default = record.get("default")
    shown = "required" if parameter.required else "" if default in (None, False) else f"`{default}`"
    return words, inline(record.get("help") or getattr(parameter, "help", "") or ""), shown


def _section(name: str, command: click.Command) -> str:
    rows = [_parameter(p) for p in command.params if p.name != "help"]
    text = inline(" ".join((command.help or "").split()))
    options = table(("argument or option", "says", "default"), rows) if rows else "No options."
    return f"{heading(f'`plugjax {name}`', 2)}\n\n{text}\n\n{options}"


def pages() -> Iterator[Page]:
    """One page."""
    sections = "\n\n".join(_section(*item) for item in commands().items())
    more = (
        "`python -m plugjax` is the same as `plugjax`. `python -m plugjax.docs` builds this site; `python -m plugjax.testing.fuzz` tests a backend with "
        "programs drawn at random. A command that fails says why in one line and ends with status 2; `PLUGJAX_TRACEBACK=1` shows the traceback."
    )
    shown = "```{command}\nplugjax devices\n```"
    yield Page("reference/commands", f"{heading('Commands')}\n\n{more}\n\n{shown}\n\n{sections}\n")
