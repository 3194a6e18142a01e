"""``python -m benchmarks.libraries``: applications of libraries with the real JAX, and with plugjax on XLA and NumPy.

Every run is a fresh process; the sides alternate, and the smallest of the rounds counts. "First" is the time of the
processor, of all threads, from the start of the process to the first result: imports, tracing, compilation. It is measured
with empty caches of compiled programs, and again with those that a run has filled. "Step" is the time of the fastest step, by
the clock, of these processes and of a third one, which repeats its steps for a second.
"""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from plugjax_as_jax.applications import records
from plugjax_as_jax.applications.marks import STEP_SECONDS
from plugjax_as_jax.applications.running import names_of, run

SIDES = ("jax", "xla", "numpy")
COLUMNS = ("application", "first: jax", "xla", "numpy", "first, warm: jax", "xla", "numpy", "step: jax", "xla", "numpy")  # fmt: skip
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console()


@dataclass(frozen=True)
class Times:
    """Seconds of one side: to the first result without and with filled caches, and of a step; nan where it failed."""

    first: float
    warm: float
    step: float


def measure(name: str, side: str, rounds: int, timeout: float) -> list[Times]:
    """The times of each round of one side; failures are nan."""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            caches = {
                "PLUGJAX_CACHE_DIR": f"{folder}/plugjax",
                "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                "PLUGJAX_VERIFY": "off",
            }
            cold, warm = (_times(name, side, timeout, caches) for _ in range(2))
            caches[STEP_SECONDS] = "1"
            repeated = _times(name, side, timeout, caches)
        steps = (cold["step"], warm["step"], repeated["step"])
        found.append(Times(cold["first_cpu"], warm["first_cpu"], min(steps)))
    return found


def _times(name: str, side: str, timeout: float, settings: dict[str, str]) -> dict[str, float]:
    outcome = run(name, side, timeout, **settings)
    # Further steps give other numbers than those that are recorded.
    if outcome.answer is None or (
        STEP_SECONDS not in settings and records.difference(name, outcome.answer["numbers"])
    ):
        return {"first_cpu": math.nan, "step": math.nan}
    times: dict[str, float] = outcome.answer["times"]
    return times


def best(rounds: list[Times]) -> Times:
    """The smallest of the rounds, each time by itself."""
    return Times(*(min(values) for values in zip(*(vars(t).values() for t in rounds), strict=True)))


def rows_of(results: dict[str, dict[str, Times]]) -> list[tuple[str, ...]]:
    """The cells of the table; JAX in seconds, the others as a ratio to it, and their geometric means at the end."""
    rows = []
    ratios: list[list[float]] = [[] for _ in range(6)]
    for name, sides in results.items():
        cells = [name]
        for i, kind in enumerate(("first", "warm", "step")):
            reference = getattr(sides["jax"], kind)
            cells.append(_seconds(reference))
            for j, side in enumerate(("xla", "numpy")):
                ratio = getattr(sides[side], kind) / reference
                cells.append("-" if math.isnan(ratio) else f"{ratio:.2f}")
                if not math.isnan(ratio):
                    ratios[2 * i + j].append(ratio)
        rows.append(tuple(cells))
    means = [_mean(each) for each in ratios]
    rows.append(("geometric mean", "", *means[:2], "", *means[2:4], "", *means[4:]))
    return rows


def _mean(ratios: list[float]) -> str:
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}" if ratios else "-"


def _seconds(value: float) -> str:
    if math.isnan(value):
        return "-"
    return (
        f"{value:.2f} s"
        if value >= 0.1
        else f"{1e3 * value:.2f} ms"
        if value >= 1e-4
        else f"{1e6 * value:.0f} us"
    )


def _json(results: dict[str, dict[str, Times]]) -> str:
    kept = {name: {s: vars(t) for s, t in sides.items()} for name, sides in results.items()}
    return json.dumps(kept, indent=1) + "\n"


def markdown(results: dict[str, dict[str, Times]]) -> str:
    """The table as Markdown."""
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *rows_of(results)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(help="Applications; all, if none is named.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of all sides.")] = 2,
    timeout: Annotated[float, typer.Option(help="Seconds that one run may take.")] = 300.0,
    output: Annotated[Path | None, typer.Option("--json", help="Keep the figures.")] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Measure and print."""
    results: dict[str, dict[str, Times]] = {}
    for name in names_of(names):
        found: dict[str, list[Times]] = {side: [] for side in SIDES}
        for _ in range(rounds):
            for side in SIDES:
                found[side] += measure(name, side, 1, timeout)
        results[name] = {side: best(each) for side, each in found.items()}
        if output is not None:
            output.write_text(_json(results))
        console.print(
            name, {s: [_seconds(t) for t in vars(v).values()] for s, v in results[name].items()}
        )
    if as_markdown:
        console.print(
            f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores", soft_wrap=True
        )
        console.print(markdown(results), soft_wrap=True, highlight=False)
        return
    table = Table(*COLUMNS)
    for row in rows_of(results):
        table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    app()
