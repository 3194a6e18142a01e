"""``plugjax parity``: how many public names of JAX exist here, per namespace, and which are missing.

The names are data (``data/jax_names.json``, with its origin), and so are the reasons why some are missing
(``data/missing_names.json``). A name exists if it can be read and is not a stub. A stub is a function whose body only raises.

Names that are no part of JAX's documented interface are listed below the table and not counted: kernels of other compilers, what
needs TensorFlow, and functions that a module of JAX leaves visible among its own. JAX's page on compatibility says that what is
public is documented.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import json
import textwrap
import warnings
from importlib import resources
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from plugjax.cli import terminal

Names = dict[str, list[str]]


def command(
    every_name: Annotated[
        bool, typer.Option("--missing/--no-missing", help="List the missing names too.")
    ] = True,
) -> None:
    """Count the public names of JAX that exist here, per namespace, and list those that do not."""
    run(terminal.console, every_name)


def listed(part: str = "names") -> Names:
    """Public names of JAX by namespace, as ``numpy.linalg``.

    Args:
        part: ``"names"``, those of the namespaces that programs are written in; ``"others"``, those of all other modules, in
            which ``jax`` itself is the empty string.
    """
    names: Names = _data("jax_names.json")[part]
    return names


@functools.cache
def _data(name: str) -> Any:
    return json.loads(resources.files("plugjax.cli").joinpath("data", name).read_text())


def reason(namespace: str, name: str) -> str:
    """Why a name is missing; empty if the data have no reason."""
    return str(_group(namespace, name).get("reason", ""))


def is_counted(namespace: str, name: str) -> bool:
    """Whether a missing name is part of JAX's interface, so that it counts as missing."""
    return bool(_group(namespace, name).get("counted", True))


def _group(namespace: str, name: str) -> dict[str, Any]:
    whole = f"{namespace}.{name}".removeprefix(".")
    groups: list[dict[str, Any]] = _data("missing_names.json")["groups"]
    for group in groups:
        if any(whole == n or whole.startswith(f"{n}.") for n in group["names"]):
            return group
    return {}


def missing(names: Names | None = None) -> Names:
    """The names of each namespace that do not exist here, or are stubs; of :func:`listed` by default."""
    found: Names = {}
    for namespace, wanted in (listed() if names is None else names).items():
        try:
            with warnings.catch_warnings():
                # Importing a deprecated module says so.
                warnings.simplefilter("ignore", DeprecationWarning)
                module = importlib.import_module(f"plugjax.{namespace}".rstrip("."))
        except ModuleNotFoundError:
            found[namespace] = list(wanted)
            continue
        found[namespace] = [n for n in wanted if not _works(module, n)]
    return found


def _explained(namespace: str, names: list[str]) -> str:
    by_reason: dict[str, list[str]] = {}
    for name in names:
        by_reason.setdefault(reason(namespace, name), []).append(name)
    return "\n".join(f"{', '.join(found)}: {why}" for why, found in by_reason.items())


def _works(module: Any, name: str) -> bool:
    try:
        value = getattr(module, name)
    except AttributeError:
        return False
    return not is_stub(value)


def is_stub(value: Any) -> bool:
    """Whether a Python function only raises."""
    if not inspect.isfunction(value):
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (OSError, SyntaxError, TypeError):  # Made without source, or by a lambda.
        return False
    (function, *_) = tree.body
    if not isinstance(function, ast.FunctionDef):
        return False
    body = function.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # the docstring
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def run(console: Console, every_name: bool) -> None:
    """Print the table, and the missing names with the reasons."""
    names = {**listed(), **listed("others")}
    absent = missing(names)
    table = Table("namespace", "here", "of", "%", *(["missing"] if every_name else []))
    here = total = 0
    apart: dict[str, int] = {}
    for namespace, wanted in names.items():
        counted = [n for n in absent[namespace] if is_counted(namespace, n)]
        for name in absent[namespace]:
            if not is_counted(namespace, name):
                words = reason(namespace, name)
                apart[words] = apart.get(words, 0) + 1
        found = len(wanted) - len(absent[namespace])
        of = found + len(counted)
        if not of:
            continue
        here, total = here + found, total + of
        row = [namespace or "jax", str(found), str(of), f"{100 * found / of:.0f}"]
        table.add_row(*row, *([_explained(namespace, counted)] if every_name else []))
    table.add_section()
    table.add_row("all", str(here), str(total), f"{100 * here / total:.1f}")
    console.print(table)
    for words, count in apart.items():
        console.print(f"Not counted: {count} names, {words}.", soft_wrap=True)
