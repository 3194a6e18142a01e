"""Measure the rows against JAX and NumPy in interleaved fresh processes, and print ratios.

Usage: ``python -m benchmarks.run [--rows PATTERN] [--rounds N] [--json FILE] [--markdown]``
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import meshes, report
from benchmarks.rows import ROWS, SETUP, Row

DISTRIBUTIONS = ("plugjax", "jax", "jaxlib", "numpy", "iree-base-runtime", "optree")


def measure(code: str) -> float:
    """Run one side in a fresh process; returns its number, in seconds or bytes."""
    # Modules are byte-compiled once, as pip leaves them, also if this shell forbids it.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SETUP + code + "\nprint('RESULT', RESULT)"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return float(line.split()[1])
    raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else "no result")


def run_row(row: Row, rounds: int) -> tuple[float, float]:
    """Smallest of ``rounds`` interleaved measurements of both sides."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        found[0].append(measure(row.ours))
        found[1].append(measure(row.theirs))
    return min(found[0]), min(found[1])


def processor() -> str:
    """Model and number of the processors."""
    model = re.search(r"model name\s*: (.*)", _cpuinfo())
    return f"{os.cpu_count()} x {model[1] if model else platform.machine()}"


def _cpuinfo() -> str:
    path = Path("/proc/cpuinfo")
    return path.read_text() if path.exists() else ""


def circumstances() -> dict[str, object]:
    """What a run's figures depend on."""
    versions = [f"{name} {version(name)}" for name in DISTRIBUTIONS]
    return {
        "machine": processor(),
        "versions": ", ".join([f"Python {platform.python_version()}", *versions]),
        "date": datetime.now(UTC).date().isoformat(),
        "command": shlex.join(["python", "-m", "benchmarks.run", *sys.argv[1:]]),
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="*", help="pattern of row names")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file that keeps the figures")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    arguments = parser.parse_args()
    progress = Console(width=130, stderr=True)
    measured = []
    for row in [*ROWS, *meshes.ROWS]:
        if not fnmatch.fnmatch(row.name, arguments.rows):
            continue
        try:
            measured.append(report.result(row, *run_row(row, arguments.rounds)))
        except RuntimeError as error:
            progress.print(f"{row.name}: {error}", markup=False)
            continue
        progress.print(f"{row.name}: {measured[-1].ratio:.2f}", markup=False)
    results = report.with_eager_mean(measured)
    run = circumstances()
    if arguments.json is not None:
        arguments.json.write_text(report.dump(run, results))
    if arguments.markdown:
        sys.stdout.write(report.markdown(run, results))
        return
    table = Table(*report.COLUMNS)
    for result in results:
        table.add_row(*result.cells())
    console = Console(width=130)
    console.print(table)
    console.print(run)


if __name__ == "__main__":
    main()
