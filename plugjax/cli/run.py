"""``plugjax run``: a Python program, with a backend, 64 bits, a profile, or ``import jax`` chosen from outside."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer

from plugjax import config, profiler
from plugjax.cli import programs
from plugjax.cli.completion import backends
from plugjax.cli.terminal import messages
from plugjax.extend import registry
from plugjax.extend.backend import get_backend

# Options after the program are the program's own.
CONTEXT = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}


def command(
    context: typer.Context,
    program: Annotated[str, typer.Argument(help="The program, or -m and a module after --.")],
    as_jax: Annotated[
        bool, typer.Option("--as-jax", help="`import jax` is plugjax, in it and its libraries.")
    ] = False,
    backend: Annotated[
        str | None, typer.Option(help="Its backend.", autocompletion=backends)
    ] = None,
    x64: Annotated[bool, typer.Option("--x64", help="Its arrays may have 64 bits.")] = False,
    profile: Annotated[
        Path | None,
        typer.Option(help="Write a trace to this folder; `plugjax profile FOLDER` sums it up."),
    ] = None,
) -> None:
    """Run a Python program; options of this command come before it."""
    choose(backend, x64)
    if as_jax:
        programs.alias().install()
    status = run([program, *context.args], profile)
    if profile is not None:
        messages.print(f"wrote a trace to {profile}: plugjax profile {profile}", highlight=False)
    raise typer.Exit(status)


def choose(backend: str | None, x64: bool) -> None:
    """Set the options of a program that is about to run.

    Raises:
        UnknownBackendError: there is no such backend.
    """
    if backend is not None:
        # An installed backend starts when the program needs it, so that the program may still configure it.
        if backend not in registry.active().backends():
            get_backend(backend)
        config.update("backend", backend)
    if x64:
        config.update("enable_x64", True)


def run(arguments: Sequence[str], profile: Path | None = None) -> int:
    """Run a program, and print the traceback of its own lines if it raises.

    Args:
        arguments: those of Python.
        profile: the folder of a trace; none is taken, if ``None``.

    Returns:
        The exit status.

    Raises:
        ValueError: there is no such program.
        SystemExit: the program ended itself.
    """
    programs.check(arguments)
    with nullcontext() if profile is None else profiler.trace(profile):
        try:
            programs.run(arguments)
        except Exception as error:
            error.__traceback__ = _of_program(error.__traceback__)
            sys.excepthook(type(error), error, error.__traceback__)
            return 1
    return 0


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback from the first frame of the program on."""
    ours = (__file__, programs.__file__, "<frozen runpy>")
    found = traceback
    while found is not None and found.tb_frame.f_code.co_filename in ours:
        found = found.tb_next
    return found or traceback
