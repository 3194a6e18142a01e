"""``plugjax profile``: what a trace says, function by function; the program is run first if no trace is given."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Table

from plugjax.cli.completion import backends
from plugjax.cli.run import choose, run
from plugjax.cli.terminal import console
from plugjax.profiler.recording import KINDS


class Row(NamedTuple):
    """Events of one kind and name on one device.

    Attributes:
        kind: one of those of the profiler, as ``execution``.
        name: that of the events.
        device: empty if the events are of none.
        times: how many events.
        total: microseconds, those of events within others included.
    """

    kind: str
    name: str
    device: str
    times: int
    total: float


def command(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(help="The folder of a trace, or a program (or -m and a module after --)."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the trace of a program is written.")
    ] = Path("profile"),
    backend: Annotated[
        str | None, typer.Option(help="The program's backend.", autocompletion=backends)
    ] = None,
    x64: Annotated[bool, typer.Option("--x64", help="Its arrays may have 64 bits.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Rows of the table.")] = 20,
) -> None:
    """Print where a program's time went: tracing, lowering, compiling, execution, transfers, by function and device."""
    status, folder = 0, Path(target)
    if not folder.is_dir():
        choose(backend, x64)
        folder = output
        status = run([target, *context.args], folder)
    file = newest(folder)
    rows = summary(json.loads(gzip.decompress(file.read_bytes()))["traceEvents"])
    _print(rows, limit)
    console.print(f"{file} opens in Perfetto and TensorBoard", soft_wrap=True, highlight=False)
    raise typer.Exit(status)


def newest(folder: Path) -> Path:
    """The file of the last trace in a folder.

    Raises:
        ValueError: there is none.
    """
    found = sorted(folder.glob("plugins/profile/*/*.trace.json.gz"), key=lambda f: f.parent.name)
    if not found:
        raise ValueError(
            f"profile: {folder} holds no trace. Write one: plugjax run --profile {folder} program.py"
        )
    return found[-1]


def summary(events: list[dict[str, Any]]) -> list[Row]:
    """The rows of a trace, the longest first; XLA's own events are left out.

    Example:
        >>> from plugjax.cli.profile import summary
        >>> event = {"ph": "X", "cat": "execution", "name": "f", "dur": 3.0, "args": {"device": "numpy:0"}}
        >>> summary([event, event])
        [Row(kind='execution', name='f', device='numpy:0', times=2, total=6.0)]
    """
    found: dict[tuple[str, str, str], tuple[int, float]] = {}
    for event in events:
        if event.get("cat") in KINDS:
            key = (event["cat"], event["name"], str(event.get("args", {}).get("device", "")))
            count, total = found.get(key, (0, 0.0))
            found[key] = (count + 1, total + event.get("dur", 0.0))
    rows = [Row(*key, *value) for key, value in found.items()]
    return sorted(rows, key=lambda row: (-row.total, row))


def _print(rows: list[Row], limit: int) -> None:
    table = Table("what", "name", "device", "times", "total", "each")
    for row in rows[:limit]:
        timed = row.total > 0
        table.add_row(
            row.kind,
            row.name,
            row.device,
            str(row.times),
            f"{row.total / 1000:.3f} ms" if timed else "",
            f"{row.total / row.times / 1000:.3f} ms" if timed else "",
        )
    console.print(table)
    if len(rows) > limit:
        console.print(f"and {len(rows) - limit} more rows: --limit {len(rows)}")
