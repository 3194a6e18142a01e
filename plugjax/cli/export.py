"""``plugjax export``: functions of a Python file as an IREE module, an artifact that JAX reads, or StableHLO."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plugjax.cli.check import refuse_symbolic
from plugjax.cli.signatures import HELP, Signature, parse
from plugjax.cli.targets import load, lookup
from plugjax.cli.terminal import console, working
from plugjax.export import Entry, export, to_iree
from plugjax.export.files import check_outputs, checksum_path, written_together


class Format(StrEnum):
    """What is written."""

    IREE = "iree"
    JAX = "jax"
    STABLEHLO = "stablehlo"


def command(
    target: Annotated[str, typer.Argument(help="FILE.py or package.module")],
    entry: Annotated[list[str], typer.Option(help=HELP)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="iree: a .vmfb module; jax: an artifact for plugjax.export.deserialize and JAX; stablehlo: its text.",
        ),
    ] = Format.IREE,
    parameters: Annotated[
        str | None, typer.Option(help="Name of a pytree in TARGET that every function takes first.")
    ] = None,
    irpa: Annotated[
        Path | None, typer.Option(help="Write the parameters to this file instead of the module.")
    ] = None,
    compile_for: Annotated[
        str | None,
        typer.Option("--compile-for", help="IREE target, such as host (the default) or generic."),
    ] = None,
    platform: Annotated[
        list[str] | None,
        typer.Option(help="What a jax or stablehlo artifact runs on: cpu, cuda, rocm, tpu."),
    ] = None,
) -> None:
    """Export functions: to one IREE module with named entry points, or one function to an artifact."""
    _check(form, irpa, compile_for, platform)
    outputs = [path for path in (output, irpa) if path is not None]
    check_outputs(outputs)
    program = Path(target)
    if program.exists() and any(path.exists() and path.samefile(program) for path in outputs):
        raise ValueError(f"export: {target} is the program itself, and no place for an output")
    module = load(target)
    chosen = parse(module, entry)
    values = lookup(module, parameters) if parameters is not None else None
    if form is Format.IREE:
        _write_iree(console, chosen, output, values, irpa, compile_for)
    else:
        _write_artifact(console, chosen, output, values, form, platform)


def _check(
    form: Format, irpa: Path | None, compile_for: str | None, platform: list[str] | None
) -> None:
    if form is Format.IREE and platform:
        raise typer.BadParameter("--platform is of --format jax and stablehlo; give --compile-for.")
    if form is not Format.IREE and (irpa is not None or compile_for is not None):
        raise typer.BadParameter("--irpa and --compile-for are of --format iree.")


def _write_iree(
    console: Console,
    chosen: list[Signature],
    output: Path,
    parameters: Any,
    irpa: Path | None,
    target: str | None,
) -> None:
    for signature in chosen:
        if signature.symbolic:
            refuse_symbolic(signature, "iree")
    entries = {s.name: Entry(s.function, s.args) for s in chosen}
    try:
        with working(f"compiling {', '.join(entries)} for IREE"):
            done = to_iree(
                entries, output, parameters=parameters, parameters_path=irpa, target=target
            )
    except RuntimeError as error:
        if "Unknown CPU" in str(error):
            raise ValueError(
                f"export: IREE knows no target {target!r}. Write host, generic, vmvx, or a CPU as LLVM names it, such as haswell."
            ) from error
        raise
    table = Table("entry point", "arguments", "results")
    for name, (ins, outs) in done.signatures.items():
        table.add_row(name, ", ".join(ins), ", ".join(outs))
    console.print(table)
    console.print(
        f"wrote {done.path} ({done.path.stat().st_size:,} bytes) and {checksum_path(done.path).name}"
    )
    name, (ins, _) = next(iter(done.signatures.items()))
    inputs = " ".join(f"--input={t}=0" for t in ins)
    extra = f" --parameters=model={done.parameters_path}" if done.parameters_path else ""
    console.print(
        f"run it: iree-run-module --module={done.path} --device=local-sync --function={name} {inputs}{extra}",
        soft_wrap=True,
        highlight=False,
    )


def _write_artifact(
    console: Console,
    chosen: list[Signature],
    output: Path,
    parameters: Any,
    form: Format,
    platform: list[str] | None,
) -> None:
    if len(chosen) != 1:
        raise ValueError(
            f"export: a {form.value} artifact holds one function, got {', '.join(s.name for s in chosen)}. Export each to a file."
        )
    (signature,) = chosen
    with working(f"exporting {signature.name}"):
        done = export(signature.closed(parameters), platforms=platform or None)(*signature.args)
        content = bytes(done.serialize()) if form is Format.JAX else done.mlir_module().encode()
    with written_together([output]) as (file,):
        file.write_bytes(content)
    table = Table("function", "arguments", "results", "platforms")
    ins, outs = (
        ", ".join(a.str_short() for a in avals) for avals in (done.in_avals, done.out_avals)
    )
    table.add_row(signature.name, escape(ins), escape(outs), ", ".join(done.platforms))
    console.print(table)
    console.print(f"wrote {output} ({len(content):,} bytes)")
    if form is Format.JAX:
        console.print(
            f"call it: plugjax.export.deserialize(open({str(output)!r}, 'rb').read()).call(...)",
            soft_wrap=True,
            highlight=False,
        )
