"""``python -m plugjax.testing.fuzz --backend xla --count 500 --seed 1``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from plugjax.extend.backend import get_backend
from plugjax.extend.errors import UnknownBackendError
from plugjax.testing.fuzz.campaign import Campaign, Finding
from plugjax.testing.fuzz.program import script

console = Console(highlight=False, soft_wrap=True)


def fuzz(
    backend: Annotated[str, typer.Option(help="Backend to test.")] = "numpy",
    count: Annotated[int, typer.Option(min=1, help="How many programs.")] = 100,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed; program k of a seed is the same everywhere.")
    ] = 0,
    first: Annotated[int, typer.Option(min=0, help="Number of the first program.")] = 0,
    oracle: Annotated[
        str, typer.Option(help="numpy, or a module with JAX's names, such as jax.")
    ] = "numpy",
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = os.cpu_count() or 1,
    timeout: Annotated[float, typer.Option(help="Seconds that a program may take.")] = 60,
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
        Path | None,
        typer.Option("--output", "-o", help="Folder for a script and a JSON file per finding."),
    ] = None,
) -> None:
    """Run programs drawn at random on a backend and hold them against an oracle."""
    if not plugin:
        get_backend(backend)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)

    def report(finding: Finding) -> None:
        console.print(f"[red]program {finding.number}[/red]: {finding.outcome.kind}")
        if output is not None and finding.program is not None:
            stem = output / f"{backend}-{seed}-{finding.number}"
            stem.with_suffix(".json").write_text(finding.program.to_json())
            stem.with_suffix(".py").write_text(f'"""{_title(finding)}"""\n\n{script(finding.program, backend)}')  # fmt: skip

    campaign = Campaign(
        backend,
        seed=seed,
        oracle=oracle,
        workers=workers,
        seconds=timeout,
        shrink_seconds=shrink,
        x64=x64,
        plugins=plugin or (),
        until=time.monotonic() + 60 * minutes,
    )
    began = time.monotonic()
    campaign.run(range(first, first + count), report)
    _print(campaign, backend, time.monotonic() - began)
    if campaign.findings:
        raise typer.Exit(1)


def _title(finding: Finding) -> str:
    again = "" if finding.repeats else " (not again when repeated)"
    return f"Program {finding.number}: {finding.outcome.kind}{again}. {finding.outcome.text}".replace('"""', "'''").replace("\\", "/")  # fmt: skip


def _print(campaign: Campaign, backend: str, seconds: float) -> None:
    groups = campaign.groups()
    for signature, findings in groups.items():
        shortest = min(findings, key=lambda f: len(f.program.source()) if f.program else 1 << 30)
        console.rule(signature, style="dim")
        console.print(_title(shortest), markup=False)
        if shortest.program is not None:
            console.print(script(shortest.program, backend), markup=False)
    table = Table("finding", "programs", "numbers")
    for signature, findings in groups.items():
        numbers = ", ".join(str(f.number) for f in findings[:8])
        table.add_row(signature, str(len(findings)), numbers)
    if groups:
        console.print(table)
    total = sum(campaign.counts.values())
    kinds = ", ".join(f"{n} {kind}" for kind, n in campaign.counts.most_common())
    console.print(f"{total} programs on {backend} in {seconds:.0f} s: {kinds}")


def main() -> None:
    """Entry point."""
    try:
        typer.run(fuzz)
    except UnknownBackendError as error:
        Console(stderr=True).print(f"fuzz: {error}", markup=False)
        sys.exit(2)


if __name__ == "__main__":
    main()
