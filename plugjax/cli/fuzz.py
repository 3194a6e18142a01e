"""``plugjax fuzz``: programs drawn at random, run on a backend and compared with NumPy; what fails is shrunk to a file."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from plugjax.cli.terminal import console, messages
from plugjax.extend.backend import get_backend

if TYPE_CHECKING:
    from plugjax.testing.fuzz.campaign import Campaign, Finding


def command(
    backend: Annotated[
        str, typer.Option(help="Backend or device, as xla or iree:vulkan:0.")
    ] = "numpy",
    count: Annotated[int, typer.Option(min=1, help="How many programs.")] = 100,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed; program k of a seed is the same everywhere.")
    ] = 0,
    first: Annotated[int, typer.Option(min=0, help="Number of the first program.")] = 0,
    steps: Annotated[
        tuple[int, int], typer.Option(help="Least and largest number of operations.")
    ] = (10, 40),
    transformed: Annotated[
        bool,
        typer.Option(
            "--transformed/--plain", help="With the gradient and a batch of each program."
        ),
    ] = True,
    oracle: Annotated[
        str, typer.Option(help="numpy, or a module with JAX's names, such as jax.")
    ] = "numpy",
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = os.cpu_count() or 1,
    timeout: Annotated[float, typer.Option(help="Seconds that a program may take.")] = 120,
    minutes: Annotated[float, typer.Option(help="Begin no program after as many minutes.")] = float(
        "inf"
    ),
    shrink: Annotated[
        float, typer.Option(help="Seconds to shrink a finding; 0: as it was drawn.")
    ] = 120,
    x64: Annotated[bool, typer.Option(help="64-bit dtypes too.")] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(help="Module with hooks to load besides the installed plugins."),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder for a script and a JSON file per finding."),
    ] = Path("findings"),
) -> None:
    """Run programs drawn at random on a backend, forward, gradient and batch, and compare them with NumPy."""
    # Loaded late, so that other commands do not wait for the op table.
    from plugjax.testing.fuzz.campaign import Campaign  # noqa: PLC0415

    if not 1 <= steps[0] <= steps[1]:
        raise ValueError(f"fuzz: --steps {steps[0]} {steps[1]} is no range of positive numbers.")
    if not plugin:
        get_backend(backend.partition(":")[0])
    campaign = Campaign(
        backend,
        seed=seed,
        oracle=oracle,
        workers=workers,
        seconds=timeout,
        shrink_seconds=shrink,
        x64=x64,
        steps=steps,
        transformed=transformed,
        plugins=plugin or (),
        until=time.monotonic() + 60 * minutes,
    )
    began = time.monotonic()
    with _bar() if messages.is_terminal else nullcontext() as progress:
        bar = progress.add_task(f"programs on {backend}", total=count) if progress else None

        def report(finding: Finding) -> None:
            if progress is not None and bar is not None:
                progress.advance(bar)
            if finding.outcome.is_fault:
                kind = finding.outcome.kind
                place = _write(finding, backend, seed, output) if finding.program else ""
                console.print(f"[red]program {finding.number}[/red]: {kind} {escape(str(place))}", soft_wrap=True)  # fmt: skip

        campaign.run(range(first, first + count), report)
    _summarise(campaign, backend, time.monotonic() - began)
    if campaign.findings:
        raise typer.Exit(1)


def _bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=messages, transient=True)


def _write(finding: Finding, backend: str, seed: int, output: Path) -> Path:
    """Write the shrunk program as a script that runs alone, and as data; returns the script."""
    from plugjax.testing.fuzz.program import script  # noqa: PLC0415  # Loaded late, as above.

    assert finding.program is not None
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{backend.replace(':', '-')}-{seed}-{finding.number}.py"
    path.with_suffix(".json").write_text(finding.program.to_json())
    path.write_text(f'"""{_title(finding)}"""\n\n{script(finding.program, backend)}')
    return path


def _title(finding: Finding) -> str:
    again = "" if finding.repeats else " (not again when repeated)"
    return f"Program {finding.number}: {finding.outcome.kind}{again}. {finding.outcome.text}".replace('"""', "'''").replace("\\", "/")  # fmt: skip


def _summarise(campaign: Campaign, backend: str, seconds: float) -> None:
    groups = campaign.groups()
    table = Table("finding", "programs", "numbers", "the shortest")
    for signature, findings in groups.items():
        shortest = min(findings, key=lambda f: len(f.program.source()) if f.program else 1 << 30)
        numbers = ", ".join(str(f.number) for f in findings[:8])
        table.add_row(escape(signature), str(len(findings)), numbers, escape(_title(shortest)))
    if groups:
        console.print(table)
    total = sum(campaign.counts.values())
    kinds = ", ".join(f"{n} {kind}" for kind, n in campaign.counts.most_common())
    rate = (
        f"{total / seconds:.2f} a second, 10,000 in {10_000 * seconds / max(total, 1) / 3600:.1f} h"
    )
    console.print(
        f"{total} programs on {backend} in {seconds:.0f} s ({rate}): {kinds}",
        highlight=False,
        soft_wrap=True,
    )
