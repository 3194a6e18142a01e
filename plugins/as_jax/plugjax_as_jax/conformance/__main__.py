"""``python -m plugjax_as_jax.conformance LIBRARIES --backend numpy``: libraries' own tests, with the real jax and with plugjax."""

from __future__ import annotations

import sysconfig
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plugjax_as_jax.conformance.comparing import Options, compare, run_files
from plugjax_as_jax.conformance.known import reason_of
from plugjax_as_jax.conformance.sources import source_of
from plugjax_as_jax.conformance.suites import SUITES, Suite, files_of

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
        typer.Option(help="An unpacked source distribution; pip fetches it if left out."),
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Run every n-th test, spread over all.")] = 1,
    files: Annotated[str, typer.Option(help="Only files whose names contain this.")] = "",
    timeout: Annotated[float, typer.Option(help="Seconds that one test may take.")] = 60.0,
    together: Annotated[int, typer.Option(min=1, help="Files that share a process.")] = 8,
    workers: Annotated[int, typer.Option(min=1, help="Processes that run at a time.")] = 2,
    failures: Annotated[bool, typer.Option(help="List what fails here alone.")] = True,
) -> None:
    """Run and compare."""
    table = Table(
        "library", "backend", "pass with jax", "of these here", "share", "known", "fail with jax"
    )
    listed: list[str] = []
    for library in libraries or list(SUITES):
        suite = SUITES.get(library, Suite("."))
        source = folder if folder or suite.in_wheel else source_of(library)
        paths = [path for path in files_of(library, source) if files in path.name]
        groups = [paths[i : i + together] for i in range(0, len(paths), together)]
        root = source or Path(sysconfig.get_path("purelib"))
        options = Options(root, every, timeout, suite.variables)
        outcomes: dict[str, dict[str, str]] = {}
        for side in ("jax", *(backend or ["numpy"])):
            with ThreadPoolExecutor(workers) as pool:
                runs = pool.map(partial(run_files, side=side, options=options), groups)
                outcomes[side] = {name: said for found in runs for name, said in found.items()}
            if side == "jax":
                continue
            found = compare(outcomes["jax"], outcomes[side])
            known = sum(bool(reason_of(library, side, name)) for name in found.failures)
            numbers = (str(n) for n in (len(found.wanted), found.passed))
            table.add_row(
                library, side, *numbers, f"{found.share:.1%}", str(known), str(found.broken)
            )
            listed += _listed(library, side, list(found.failures.items()))
    console.print(table)
    if failures:
        console.print("\n".join(map(escape, listed)), highlight=False, soft_wrap=True)


def _listed(library: str, backend: str, failures: list[tuple[str, str]]) -> list[str]:
    """Failures by their reason if it is known, and by what they say, the most frequent first."""
    said = {}
    for name, text in failures:
        reason = reason_of(library, backend, name)
        said[name] = f"known: {reason}" if reason else text
    lines = []
    for reason, count in Counter(said.values()).most_common():
        names = [name for name, text in said.items() if text == reason]
        lines.append(f"{library} on {backend}, {count}: {reason}")
        lines += [f"    {name}" for name in names[:5]]
        if len(names) > 5:
            lines.append(f"    and {len(names) - 5} more")
    return lines


if __name__ == "__main__":
    app()
