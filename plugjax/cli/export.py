"""``plugjax export``: functions of a Python file as entry points of an IREE module."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from plugjax.cli.targets import load, lookup, parse_shapes
from plugjax.export import Entry, to_iree
from plugjax.export.files import check_outputs, checksum_path


def run(
    console: Console,
    target: str,
    entries: list[str],
    output: Path,
    parameters: str | None,
    irpa: Path | None,
    compile_for: str,
) -> None:
    """Export and print the signatures and the command that runs the module."""
    outputs = [path for path in (output, irpa) if path is not None]
    check_outputs(outputs)
    program = Path(target)
    if program.exists() and any(path.exists() and path.samefile(program) for path in outputs):
        raise ValueError(f"export: {target} is the program itself, and no place for an output")
    module = load(target)
    chosen: dict[str, Entry] = {}
    for text in entries:
        name, _, rest = text.rpartition("=") if "=" in text else ("", "", text)
        function, _, shapes = rest.partition(":")
        if (name or function) in chosen:
            raise ValueError(f"export: two entry points are called {name or function!r}")
        chosen[name or function] = Entry(lookup(module, function), tuple(parse_shapes(shapes)))
    values = lookup(module, parameters) if parameters is not None else None
    done = to_iree(chosen, output, parameters=values, parameters_path=irpa, target=compile_for)
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
