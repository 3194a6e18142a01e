"""``python -m plugjax_as_jax.conformance LIBRARIES --backend numpy``: libraries' own tests, with the real jax and with plugjax."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plugjax_as_jax.conformance.comparing import compare, run_file
from plugjax_as_jax.conformance.suites import SUITES, files_of

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console()


@app.command()
def main(
    libraries: Annotated[
        list[str] | None, typer.Argument(help="All with tests, if none is named.")
    ] = None,
    backend: Annotated[
        list[str] | None, typer.Option(help="Repeatable; numpy if left out.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="An unpacked source distribution with the tests of the library."),
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Run every n-th test, spread over all.")] = 1,
    files: Annotated[str, typer.Option(help="Only files whose names contain this.")] = "",
    timeout: Annotated[float, typer.Option(help="Seconds that one test may take.")] = 60.0,
    workers: Annotated[int, typer.Option(min=1, help="Files that run at a time.")] = 2,
    failures: Annotated[bool, typer.Option(help="List what fails here alone.")] = True,
) -> None:
    """Run and compare."""
    table = Table("library", "backend", "pass with jax", "of these here", "share", "fail with jax")
    listed: list[str] = []
    for library in libraries or list(SUITES):
        paths = [path for path in files_of(library, folder) if files in path.name]
        for place in backend or ["numpy"]:
            with ThreadPoolExecutor(workers) as pool:
                real = pool.map(lambda p: run_file(p, "jax", every, timeout), paths)
                here = pool.map(lambda p, b=place: run_file(p, b, every, timeout), paths)
                found = [compare(a, b) for a, b in zip(real, here, strict=True)]
            wanted, passed = sum(len(c.wanted) for c in found), sum(c.passed for c in found)
            share = f"{passed / wanted:.1%}" if wanted else "-"
            broken = sum(c.broken for c in found)
            table.add_row(library, place, str(wanted), str(passed), share, str(broken))
            listed += _listed(library, place, [item for c in found for item in c.failures.items()])
    console.print(table)
    if failures:
        console.print("\n".join(map(escape, listed)), highlight=False, soft_wrap=True)


def _listed(library: str, backend: str, failures: list[tuple[str, str]]) -> list[str]:
    """Failures by what they say, the most frequent first."""
    reasons = Counter(text for _, text in failures)
    lines = []
    for reason, count in reasons.most_common():
        names = [name for name, text in failures if text == reason]
        lines.append(f"{library} on {backend}, {count}: {reason}")
        lines += [f"    {name}" for name in names[:5]]
        if len(names) > 5:
            lines.append(f"    and {len(names) - 5} more")
    return lines


if __name__ == "__main__":
    app()
