"""Measure the rows against JAX and NumPy in interleaved fresh processes, and print ratios.

Usage: ``python -m benchmarks.run [--rows PATTERN] [--rounds N] [--json FILE]``
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.rows import ROWS, SETUP, Row

EAGER = "eager "


def measure(code: str) -> float:
    """Run one side in a fresh process; returns its number, in seconds or bytes."""
    # Modules are byte-compiled once, as pip leaves them, whatever this shell asks for.
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


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="*", help="pattern of row names")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    console = Console(width=130)
    table = Table("row", "plugjax", "other", "ratio", "target", "reached")
    results = []
    for row in ROWS:
        if not fnmatch.fnmatch(row.name, arguments.rows):
            continue
        try:
            a, b = run_row(row, arguments.rounds)
        except RuntimeError as error:
            console.print(f"{row.name}: {error}", markup=False)
            continue
        ratio = a / b
        results.append(
            {"row": row.name, "plugjax": a, "other": b, "ratio": ratio, "target": row.target}
        )
        table.add_row(
            row.name,
            f"{a * row.scale:.2f} {row.unit}",
            f"{b * row.scale:.2f} {row.unit}",
            f"{ratio:.2f}",
            f"{row.target:.2f}",
            "yes" if ratio <= row.target else "no",
        )
        console.print(f"{row.name}: {ratio:.2f} (target {row.target:.2f})", markup=False)
    eager = [r["ratio"] for r in results if str(r["row"]).startswith(EAGER)]
    if eager:
        mean = math.exp(sum(math.log(r) for r in eager) / len(eager))
        table.add_row(
            "eager operations, geometric mean",
            "",
            "",
            f"{mean:.2f}",
            "0.30",
            "yes" if mean <= 0.3 else "no",
        )
    console.print(table)
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {name: version(name) for name in ("jax", "jaxlib", "numpy", "plugjax")},
        "rounds": arguments.rounds,
    }
    console.print(facts)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({**facts, "results": results}, indent=2))


if __name__ == "__main__":
    main()
