"""A run of the benchmarks as Markdown, and its place in a document.

Usage: ``python -m benchmarks.report RUN.json [DOCUMENT.md]`` prints the table of a run that ``benchmarks.run --json`` kept,
or writes it between the document's markers ``<!-- figures -->`` and ``<!-- end of figures -->``.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.rows import Row

EAGER = "eager "
EAGER_TARGET = 0.30
COLUMNS = ("row", "plugjax", "other", "ratio", "target", "reached")
MARKERS = re.compile(r"(<!-- figures -->\n).*(<!-- end of figures -->)", re.DOTALL)


@dataclass(frozen=True)
class Result:
    """A measured row, or a mean of rows; for the latter ``plugjax`` and ``other`` are ``None``.

    Attributes:
        row: the row's name.
        plugjax: our figure, in seconds or bytes.
        other: the figure of JAX or NumPy.
        ratio: of the two.
        target: the ratio to reach.
        unit: in which the figures are printed.
        scale: factor from seconds or bytes to the unit.
    """

    row: str
    plugjax: float | None
    other: float | None
    ratio: float
    target: float
    unit: str = ""
    scale: float = 1.0

    def cells(self) -> tuple[str, ...]:
        """The cells of the table, in the order of ``COLUMNS``."""
        ours, theirs = (
            "" if figure is None else f"{figure * self.scale:.2f} {self.unit}"
            for figure in (self.plugjax, self.other)
        )
        ratio = f"{self.ratio:.2f}"
        reached = "yes" if float(ratio) <= self.target else "no"
        return (self.row, ours, theirs, ratio, f"{self.target:.2f}", reached)


def result(row: Row, ours: float, theirs: float) -> Result:
    """The result of one row."""
    return Result(row.name, ours, theirs, ours / theirs, row.target, row.unit, row.scale)


def with_eager_mean(results: Iterable[Result]) -> list[Result]:
    """The results, followed by the geometric mean of the eager operations among them."""
    results = list(results)
    ratios = [r.ratio for r in results if r.row.startswith(EAGER)]
    if not ratios:
        return results
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return [*results, Result("eager operations, geometric mean", None, None, mean, EAGER_TARGET)]


def markdown(run: Mapping[str, object], results: Iterable[Result]) -> str:
    """One line for the machine, the versions, the date and the command; then the table."""
    lines = [
        f"{run['machine']}; {run['versions']}; {run['date']}; `{run['command']}`.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---" * len(COLUMNS) + "|",
    ]
    lines += ["| " + " | ".join(r.cells()) + " |" for r in results]
    return "\n".join(lines) + "\n"


def dump(run: Mapping[str, object], results: Iterable[Result]) -> str:
    """A run as JSON."""
    return json.dumps({**run, "results": [asdict(r) for r in results]}, indent=2)


def load(text: str) -> tuple[dict[str, object], list[Result]]:
    """A run from its JSON."""
    run = json.loads(text)
    return run, [Result(**r) for r in run.pop("results")]


def write_into(document: str, table: str) -> str:
    """The document with ``table`` between its markers.

    Raises:
        ValueError: the document has no markers.
    """
    if not MARKERS.search(document):
        raise ValueError(
            "the document has no lines '<!-- figures -->' and '<!-- end of figures -->'. "
            "Put them where the table belongs."
        )
    return MARKERS.sub(lambda found: f"{found[1]}\n{table}\n{found[2]}", document)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("document", type=Path, nargs="?")
    arguments = parser.parse_args()
    table = markdown(*load(arguments.run.read_text()))
    if arguments.document is None:
        sys.stdout.write(table)
    else:
        arguments.document.write_text(write_into(arguments.document.read_text(), table))


if __name__ == "__main__":
    main()
