"""The command line: the commands, each a module of this package, and what errors look like."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from rich.markup import escape

import plugjax
from plugjax.cli import (
    bug,
    cache,
    check,
    compile,
    demo,
    devices,
    doctor,
    export,
    fuzz,
    launch,
    new,
    parity,
    plugins,
    profile,
    run,
)
from plugjax.cli.commands import Commands
from plugjax.cli.terminal import console, messages

app = typer.Typer(
    cls=Commands,
    help="plugjax: a JAX-compatible array framework whose every part is a plugin.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(plugjax.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Options of the command itself; its help is that of ``app``."""


app.command("demo")(demo.command)
app.command("run", context_settings=run.CONTEXT)(run.command)
app.command("profile", context_settings=run.CONTEXT)(profile.command)
app.command("launch", context_settings=run.CONTEXT)(launch.command)
app.command("check")(check.command)
app.command("compile")(compile.command)
app.command("export")(export.command)
app.command("fuzz")(fuzz.command)
app.command("new")(new.command)
app.command("devices")(devices.command)
app.command("plugins")(plugins.command)
app.command("doctor")(doctor.command)
app.command("bug")(bug.command)
app.command("parity")(parity.command)
app.add_typer(cache.app, name="cache")


@app.command()
def version() -> None:
    """Print the version."""
    console.print(plugjax.__version__)


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except Exception as error:
        if os.environ.get("PLUGJAX_TRACEBACK", "") not in ("", "0"):
            raise
        messages.print(
            "[red]plugjax:[/red] " + escape(_in_one_line(error)), highlight=False, soft_wrap=True
        )
        sys.exit(2)


def _in_one_line(error: Exception) -> str:
    """The message of an error, with the name of the class unless the class is one whose messages need none."""
    said = " ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip())
    plain = (RuntimeError, ValueError, TypeError, OSError)
    if said and isinstance(error, plain):
        return said
    advice = " (PLUGJAX_TRACEBACK=1 shows where)"
    return f"{type(error).__name__}: {said}{advice}"
