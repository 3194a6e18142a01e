"""``plugjax parity``: how many public names of JAX exist here, per namespace, and which are missing.

The names are data (``data/jax_names.json``, with its origin). A name counts if it can be read and is not a stub. A stub
is a function whose body only raises.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import textwrap
from importlib import resources
from typing import Any

from rich.console import Console
from rich.table import Table


def listed() -> dict[str, list[str]]:
    """Public names of JAX by namespace, as ``numpy.linalg``."""
    text = resources.files("plugjax.cli").joinpath("data", "jax_names.json").read_text()
    names: dict[str, list[str]] = json.loads(text)["names"]
    return names


def missing() -> dict[str, list[str]]:
    """The names of each namespace that do not exist here, or are stubs."""
    found: dict[str, list[str]] = {}
    for namespace, names in listed().items():
        try:
            module = importlib.import_module(f"plugjax.{namespace}")
        except ModuleNotFoundError:
            found[namespace] = list(names)
            continue
        found[namespace] = [n for n in names if not _works(module, n)]
    return found


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
    """Print the table, and the missing names."""
    names, absent = listed(), missing()
    table = Table("namespace", "here", "of", "%", *(["missing"] if every_name else []))
    here = total = 0
    for namespace, wanted in names.items():
        count = len(wanted) - len(absent[namespace])
        here, total = here + count, total + len(wanted)
        row = [namespace, str(count), str(len(wanted)), f"{100 * count / len(wanted):.0f}"]
        table.add_row(*row, *([", ".join(absent[namespace])] if every_name else []))
    table.add_section()
    table.add_row("all", str(here), str(total), f"{100 * here / total:.1f}")
    console.print(table)
