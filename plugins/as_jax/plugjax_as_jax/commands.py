"""What ``plugjax run --as-jax`` and ``plugjax doctor --as-jax`` call."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plugjax_as_jax.finder import install, shadowed
from plugjax_as_jax.libraries import LIBRARIES

__all__ = ["doctor", "install"]

# Imports modules and prints the names that they look up in vain; the last line is the answer.
_PROBE = """\
import importlib, json, sys
import plugjax_as_jax
plugjax_as_jax.install()
fault = ""
try:
    for name in sys.argv[1:]:
        importlib.import_module(name)
except Exception as error:
    fault = f"{type(error).__name__}: {error}"
rows = [[r.name, r.library, f"{r.file.rpartition('site-packages/')[2]}:{r.line}"] for r, _ in plugjax_as_jax.report().missing]
print(json.dumps([fault, rows]))
"""


def doctor(console: Console) -> None:
    """Import each known library that is installed, in a process of its own; print what it looks up in vain."""
    console.print(f"real jax: {escape(shadowed() or 'not installed')}", highlight=False)
    present = {n: m for n, m in LIBRARIES.items() if _version(n)}
    if not present:
        console.print("None of the known libraries is installed: " + ", ".join(LIBRARIES))
        return
    with ThreadPoolExecutor(max_workers=2) as pool:
        answers = dict(zip(present, pool.map(_probe, present.values()), strict=True))
    table = Table("library", "version", "imports")
    for title in ("missing name", "looked up at"):
        table.add_column(title, overflow="fold")
    for library, (fault, rows) in answers.items():
        imports = f"[red]{escape(fault)}[/red]" if fault else "yes"
        table.add_row(
            library, _version(library), imports, *(rows[0][::2] if rows else ("none", ""))
        )
        for name, _, place in rows[1:]:
            table.add_row("", "", "", name, place)
    console.print(table)
    console.print(
        "A name that a library looks up while it is imported and can do without is listed too. "
        "plugjax_as_jax.report() lists what a program of yours looks up."
    )


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _probe(modules: tuple[str, ...]) -> tuple[str, list[list[str]]]:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, *modules],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return f"the process ended with {done.returncode}", []
    fault, rows = json.loads(done.stdout.splitlines()[-1])
    return fault, rows
