"""``plugjax bug``: versions, devices, plugins and options as plain text, to paste into a report."""

from __future__ import annotations

import os
from collections.abc import Iterator

import typer

from plugjax import config, print_environment_info
from plugjax.extend import registry


def command() -> None:
    """Print versions, devices, plugins and options as text, to paste into a report of a fault."""
    typer.echo(text())


def _plugins() -> Iterator[str]:
    for plugin in registry.active().plugins:
        state = "blocked" if plugin.blocked else "loaded"
        if plugin.error is not None:
            state = f"skipped: {type(plugin.error).__name__}: {plugin.error}"
        elif plugin.faults:
            state = f"failed in {', '.join(plugin.faults)}"
        yield f"{plugin.name} ({plugin.distribution} {plugin.version}): {state}"


def _options() -> Iterator[str]:
    registry.active()
    for name, option in sorted(config.options.items()):
        value = config.read(name)
        if value != option.default:
            yield f"jax_{name} = {value!r}"


def _variables() -> Iterator[str]:
    # Only our own: others may hold secrets.
    for name, value in sorted(os.environ.items()):
        if name.startswith("PLUGJAX_"):
            yield f"{name}={value}"


def text() -> str:
    """The report.

    Example:
        >>> from plugjax.cli import bug
        >>> bug.text().splitlines()[0]
        'environment'
    """
    parts = {
        "environment": (print_environment_info(return_string=True) or "").splitlines(),
        "plugins": _plugins(),
        "options that are not the default": _options(),
        "variables": _variables(),
    }
    lines = []
    for title, found in parts.items():
        lines += [title, *(f"  {line}" for line in found)]
    return "\n".join(lines)
