"""Reference pages of the error types, one for each: what it says, an executed example that raises it, and the repair."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

import plugjax.errors
import plugjax.extend
import plugjax.extend.errors
from plugjax.docs import docstrings, package_errors
from plugjax.docs.error_examples import EXAMPLES, Example
from plugjax.docs.pages import Page, heading, table, toctree

_FOLDER = "reference/errors"
_IMPORTS = {
    "os": "import os\n",
    "np": "import numpy as np",
    "jax": "import plugjax as jax",
    "jnp": "import plugjax.numpy as jnp",
    "lax": "from plugjax import lax",
    "checkify": "from plugjax.experimental import checkify",
}


def types() -> dict[str, type[BaseException]]:
    """The public error and warning types by name."""
    modules = (plugjax.errors, plugjax.extend.errors)
    found = {name: getattr(module, name) for module in modules for name in module.__all__}
    return {
        name: value
        for name, value in sorted(found.items())
        if inspect.isclass(value) and issubclass(value, BaseException)
    }


def program(example: Example) -> str:
    """The example with the imports that it needs."""
    read = {node.id for node in ast.walk(ast.parse(example.code)) if isinstance(node, ast.Name)}
    lines = [line for name, line in _IMPORTS.items() if name in read]
    extend = sorted(name for name in read - set(_IMPORTS) if name in plugjax.extend.__all__)
    lines += [f"from plugjax.extend import {', '.join(extend)}"] if extend else []
    return "\n".join([*lines, "", example.code])


def _page(path: str, error: type[BaseException], example: Example | None) -> Page:
    bases = ", ".join(f"`{base.__name__}`" for base in error.__mro__[1:-3])
    parts = [
        heading(f"`{path}`"),
        docstrings.markdown(error),
        f"Also a {bases}." if bases else "",
    ]
    if example is not None and example.code:
        parts.append(f"```{{run}}\n{_raised(error, example)}{program(example)}\n```")
    elif example is not None:
        parts.append("No program of this page raises it.")
    if example is not None:
        parts.append(f"**Repair.** {example.repair}")
    return Page(f"{_FOLDER}/{path}", "\n\n".join(part for part in parts if part) + "\n")


def _raised(error: type[BaseException], example: Example) -> str:
    """The option of the block that raises the error; warnings and what is only printed are not raised."""
    shown = issubclass(error, Warning) or "print(type(" in example.code
    return "" if shown else f":raises: {error.__name__}\n"


def _summary(errors: dict[str, type[BaseException]]) -> str:
    rows = [
        (f"[`{path}`]({path}.md)", docstrings.first_line(error)) for path, error in errors.items()
    ]
    return table(("type", "says"), rows)


def pages() -> Iterator[Page]:
    """An index, and a page for each type."""
    packages = package_errors.found()
    for name, error in types().items():
        yield _page(name, error, EXAMPLES.get(name))
    for path, (listed, error) in packages.items():
        yield _page(path, error, listed.example)
    text = (
        "Types are JAX's, and plugjax's own. Each is also the builtin type that one would expect, and each has a page: what it says, a program that "
        "raises it, and the repair. `plugjax.errors` and `plugjax.extend.errors` have those of the first table; those of the second belong to packages."
    )
    parts = [
        heading("Errors"),
        text,
        _summary(types()),
        heading("Errors of packages", 2),
        _summary({path: error for path, (_, error) in packages.items()}),
        toctree([*types(), *packages]).replace(":maxdepth: 1", ":hidden:"),
    ]
    yield Page(f"{_FOLDER}/index", "\n\n".join(parts) + "\n")
