"""The reference page of the commands, from the command line's own declarations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from plugjax.cli.main import app
from plugjax.docs.docstrings import inline
from plugjax.docs.pages import Page, heading, table

# Modules that are run as programs, and what for; `--help` shows their options.
MODULES = (
    ("plugjax", "the same as `plugjax`"),
    ("plugjax.docs", "the same as `plugjax docs`"),
    ("plugjax_as_jax", "runs a program, or with `-m` a module, whose `import jax` gives plugjax"),
    ("plugjax_as_jax.applications", "runs the applications of libraries and compares with JAX's recorded numbers"),
    ("plugjax_as_jax.conformance", "runs the tests of libraries with JAX and with plugjax"),
)  # fmt: skip


def commands() -> dict[str, Any]:
    """Commands by their words, as ``cache list``."""
    found: dict[str, Any] = {}

    def walk(prefix: str, command: Any) -> None:
        if hasattr(command, "list_commands"):
            context = command.context_class(command)
            for name in sorted(command.list_commands(context)):
                walk(f"{prefix} {name}".strip(), command.get_command(context, name))
        else:
            found[prefix] = command

    walk("", typer.main.get_command(app))
    return found


def _parameter(parameter: Any) -> tuple[str, str, str]:
    words = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        words = f"`{parameter.name.upper()}`"
    default = parameter.default
    shown = (
        "required"
        if parameter.required
        else ""
        if default is None or default is False
        else f"`{default}`"
    )
    return words, inline(getattr(parameter, "help", "") or ""), shown


def _section(name: str, command: Any) -> str:
    rows = [_parameter(p) for p in command.params if p.name != "help"]
    text = inline(" ".join((command.help or "").split()))
    options = table(("argument or option", "says", "default"), rows) if rows else "No options."
    return f"{heading(f'`plugjax {name}`', 2)}\n\n{text}\n\n{options}"


def pages() -> Iterator[Page]:
    """One page."""
    sections = "\n\n".join(_section(*item) for item in commands().items())
    more = "A command that fails says why in one line and ends with status 2; `PLUGJAX_TRACEBACK=1` shows the traceback."
    rows = [(f"`python -m {module}`", text) for module, text in MODULES]
    modules = f"{heading('Modules', 2)}\n\n{table(('command', 'does'), rows)}"
    shown = "```{command}\nplugjax devices\n```"
    parts = [heading("Commands"), more, shown, sections, modules]
    yield Page("reference/commands", "\n\n".join(parts) + "\n")
