"""The house as data: packages with their files and docstrings, what each is for, which imports which, and on which floor it is.

Purposes come from the table of ``docs/architecture.md``, floors from the contract in ``pyproject.toml`` that import-linter checks, and imports from
the source itself. Imports for types alone and imports inside functions count too; modules that are named in strings do not.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOF = "plugjax"
_ROW = re.compile(r"^\| (`[^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


@dataclass
class Room:
    """A package.

    Attributes:
        name: as it is imported, without ``plugjax.``; the backends' packages have their own names.
        purpose: what it is for.
        changes: what may be changed there.
        floor: from 0, the lowest; -1 for packages of the plugins.
        files: path below the repository to the first line of the docstring.
        imports: how many files here import from another room, by room.
    """

    name: str
    purpose: str = ""
    changes: str = ""
    floor: int = -1
    files: dict[str, str] = field(default_factory=dict)
    imports: Counter[str] = field(default_factory=Counter)


def described(architecture: str) -> dict[str, tuple[str, str]]:
    """Purpose and changes of each package in the architecture's table.

    Example:
        >>> from plugjax.docs.house import described
        >>> described("| `a`, `b` | one | two |")["b"]
        ('one', 'two')
    """
    return {
        name: (purpose.strip(), changes.strip())
        for names, purpose, changes in _ROW.findall(architecture)
        for name in re.findall(r"`([\w*/]+)`", names)
    }


def floors(pyproject: str) -> list[list[str]]:
    """The layers of import-linter's contract, the lowest first, without ``plugjax.``."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [
        [name.strip().removeprefix("plugjax.") for name in layer.split("|")]
        for layer in reversed(layers)
    ]


def _packages(root: Path) -> Iterator[tuple[str, Path]]:
    yield ROOF, root / "plugjax"
    for folder in sorted((root / "plugjax").iterdir()):
        if (folder / "__init__.py").exists():
            yield folder.name, folder
    for folder in sorted(root.glob("plugins/*/plugjax_*")):
        if (folder / "__init__.py").exists():
            yield folder.name, folder


def _files(name: str, folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py") if name == ROOF else folder.rglob("*.py"))


def _modules(tree: ast.Module) -> Iterator[str]:
    """Absolute names of what a file imports; ``from a import b`` gives ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _room_of(module: str, names: set[str]) -> str | None:
    first, *rest = module.split(".")
    if first != ROOF:
        return first if first.startswith("plugjax_") and first in names else None
    return rest[0] if rest and rest[0] in names else ROOF


def rooms(root: Path) -> dict[str, Room]:
    """All packages of the repository.

    Raises:
        ValueError: a package has no row in the architecture's table.
    """
    table = described((root / "docs" / "architecture.md").read_text(encoding="utf-8"))
    found = {name: Room(name) for name, _ in _packages(root)}
    for name, folder in _packages(root):
        room = found[name]
        key = "plugins/*" if name.startswith("plugjax_") and name not in table else name
        if key not in table:
            raise ValueError(f"docs/architecture.md has no row for the package {name}")
        room.purpose, room.changes = table[key]
        for path in _files(name, folder):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            line = (ast.get_docstring(tree) or "").partition("\n")[0]
            room.files[path.relative_to(root).as_posix()] = line
            used = {_room_of(module, set(found)) for module in _modules(tree)}
            room.imports.update(other for other in used if other and other != name)
    _place(found, floors((root / "pyproject.toml").read_text(encoding="utf-8")))
    return found


def _place(found: dict[str, Room], layers: list[list[str]]) -> None:
    """Floors by the contract; a package that it does not name goes above what it imports, and to the top if that is nothing."""
    for floor, names in enumerate(layers):
        # `image` is a single module, which is in the roof.
        for name in found.keys() & names:
            found[name].floor = floor
    for room in found.values():
        if room.floor < 0 and room.name != ROOF and not room.name.startswith("plugjax_"):
            below = [found[name].floor for name in room.imports if name != ROOF]
            room.floor = min(max(below, default=len(layers)) + 1, len(layers) - 1)
    found[ROOF].floor = len(layers)
