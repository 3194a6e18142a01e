"""``plugjax new``: the package of a primitive, a transformation or a backend, which passes its tests at once.

The files are those of ``templates/``: ``common`` and the kind. ``package`` in a path becomes the name of the package.
"""

from __future__ import annotations

import keyword
import re
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from plugjax.cli.terminal import console
from plugjax.extend import registry

_SUFFIX = ".in"


class Kind(StrEnum):
    """What a package adds."""

    PRIMITIVE = "primitive"
    TRANSFORMATION = "transformation"
    BACKEND = "backend"


_DEPENDENCIES = {Kind.BACKEND: '"plugjax", "plugjax-numpy"'}


def command(
    kind: Annotated[Kind, typer.Argument(help="What the package adds.")],
    name: Annotated[str, typer.Argument(help="Its name, such as softsign.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder; plugjax-NAME if left out.")
    ] = None,
) -> None:
    """Write the package of a plugin, with an entry point and tests that pass."""
    _check(kind, name)
    folder = output if output is not None else Path(_distribution(name))
    written = write(kind, name, folder)
    for path in written:
        console.print(str(path), highlight=False, soft_wrap=True)
    console.print(
        f"test it: pip install -e '{folder}[test]' && python -m pytest {folder}",
        highlight=False, soft_wrap=True, markup=False,
    )  # fmt: skip


def write(kind: Kind, name: str, folder: Path) -> list[Path]:
    """Write the files of a package into a new folder.

    Args:
        kind: what the package adds.
        name: the name of that.
        folder: where; it must be new, or empty.

    Returns:
        The files.

    Raises:
        ValueError: there is something in the folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"new: {folder} is there already. Give another folder: --output FOLDER")
    words = {
        "kind": kind.value,
        "name": name,
        "title": "".join(part.capitalize() for part in name.split("_")),
        "package": f"plugjax_{name}",
        "distribution": _distribution(name),
        "dependencies": _DEPENDENCIES.get(kind, '"plugjax"'),
    }
    written = []
    for path, text in sorted(_templates("common") + _templates(kind.value)):
        target = folder / path.replace("package", words["package"]).removesuffix(_SUFFIX)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Template(text).substitute(words), encoding="utf-8")
        written.append(target)
    return written


def _distribution(name: str) -> str:
    return f"plugjax-{name.replace('_', '-')}"


def _check(kind: Kind, name: str) -> None:
    if not re.fullmatch(r"[a-z]\w*", name, re.ASCII) or keyword.iskeyword(name):
        raise ValueError(
            f"new: {name!r} is no name of a {kind.value}. Write small letters, digits and _, such as soft_sign."
        )
    if name in {plugin.name for plugin in registry.active().plugins}:
        raise ValueError(f"new: a plugin {name!r} is installed. Take another name.")
    if kind is Kind.BACKEND and name in registry.active().backends():
        raise ValueError(f"new: a backend {name!r} is installed. Take another name.")


def _templates(kind: str) -> list[tuple[str, str]]:
    """Paths and texts of the templates of a kind."""
    found: list[tuple[str, str]] = []

    def walk(folder: Traversable, prefix: str) -> None:
        for item in folder.iterdir():
            path = f"{prefix}{item.name}"
            if item.is_dir():
                walk(item, f"{path}/")
            elif path.endswith(_SUFFIX):
                found.append((path, item.read_text(encoding="utf-8")))

    walk(files("plugjax.cli").joinpath("templates", kind), "")
    return found
