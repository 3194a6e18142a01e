"""``plugjax compile``: functions of a Python file compiled for hardware that need not be there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plugjax.cli.hardware import HELP as HARDWARE, parse_hardware
from plugjax.cli.signatures import HELP, Signature, parse
from plugjax.cli.targets import load, lookup
from plugjax.cli.terminal import console, working
from plugjax.export.files import check_outputs, written_together
from plugjax.extend.core import Device
from plugjax.extend.execution import CompiledFunction

# Rows of the table: what they are called, and in which names of XLA.
_COSTS = {name: name for name in ("flops", "transcendentals", "bytes accessed")}
_SIZES = {
    "arguments, bytes": "argument_size_in_bytes",
    "results, bytes": "output_size_in_bytes",
    "temporaries, bytes": "temp_size_in_bytes",
}


def command(
    target: Annotated[
        str,
        typer.Argument(
            help="FILE.py or package.module; with one entry after a colon in place of --entry."
        ),
    ],
    hardware: Annotated[str, typer.Option("--for", help=HARDWARE)],
    entry: Annotated[list[str] | None, typer.Option(help=HELP)] = None,
    parameters: Annotated[
        str | None, typer.Option(help="Name of a pytree in TARGET that every function takes first.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the executable of one function to this file."),
    ] = None,
) -> None:
    """Compile functions ahead of time for one device of some hardware; print estimates of cost and memory."""
    if not entry:
        target, _, text = target.partition(":")
        entry = [text]
    run(console, target, entry, hardware, parameters, output)


def run(
    console: Console,
    target: str,
    entries: list[str],
    hardware: str,
    parameters: str | None = None,
    output: Path | None = None,
) -> None:
    """Compile, print a table, and write the executable if there is a place for it.

    Raises:
        RuntimeError: what compiles for the hardware is not installed, or refuses a program.
        NotImplementedError: no plugin compiles for it.
        LoweringError: a primitive has no lowering for it, or calls Python.
        ValueError: an entry cannot be read, sizes are not known, or several functions are for one file.
    """
    if output is not None:
        check_outputs([output])
    wanted = parse_hardware(hardware)
    chosen = parse(load(target), entries)
    if output is not None and len(chosen) != 1:
        raise ValueError(
            f"compile: an executable holds one function, got {', '.join(s.name for s in chosen)}. Compile each to a file."
        )
    values = lookup(load(target), parameters) if parameters is not None else None
    device, *_ = wanted.devices()
    compiled = {}
    for signature in chosen:
        with working(f"compiling {signature.name} for {wanted}"):
            compiled[signature.name] = compile_for(device, signature, values)
    console.print(f"one device of {wanted}: {device.description}", highlight=False)
    console.print(_table(compiled))
    if output is not None:
        (code,) = map(_code, compiled.values())
        with written_together([output]) as (file,):
            file.write_bytes(code)
        console.print(f"wrote {output} ({len(code):,} bytes)")


def compile_for(device: Device, signature: Signature, parameters: Any) -> CompiledFunction:
    """A function compiled for a device.

    Raises:
        ValueError: sizes of its arguments are not known.
    """
    if signature.symbolic:
        shapes = ", ".join(str(list(arg.shape)) for arg in signature.args)
        raise ValueError(
            f"{signature.name}: machine code needs sizes that are numbers, got {shapes}. Write numbers."
        )
    return signature.trace(parameters, device).lower().compile()


def _table(compiled: Mapping[str, CompiledFunction]) -> Table:
    """Estimates of cost and memory, a column for each function."""
    table = Table("", *map(escape, compiled))
    costs = [each.cost_analysis() for each in compiled.values()]
    sizes = [each.memory_analysis() for each in compiled.values()]
    for names, found in ((_COSTS, costs), (_SIZES, sizes)):
        for words, name in names.items():
            table.add_row(words, *(f"{int(each.get(name, 0)):,}" for each in found))
    table.add_row("executable, bytes", *(f"{len(_code(each)):,}" for each in compiled.values()))
    return table


def _code(compiled: CompiledFunction) -> bytes:
    """What the runtime's own loader takes."""
    code: bytes = compiled.runtime_executable().code
    return code
