"""The sources of the site in one folder: written pages, developers' documents, generated pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from plugjax.docs import (
    commands,
    configuration,
    conformance,
    differences,
    errors,
    hooks,
    house_page,
    matrix,
    matrix_page,
    names,
)
from plugjax.docs.matrix import Cell
from plugjax.docs.pages import Page, heading, toctree


def written(root: Path) -> Iterator[Page]:
    """Pages of ``docs/site``."""
    folder = root / "docs" / "site"
    for path in sorted(folder.rglob("*.md")):
        name = path.relative_to(folder).with_suffix("").as_posix()
        yield Page(name, path.read_text(encoding="utf-8"))


def developers(root: Path) -> Iterator[Page]:
    """Documents of ``docs/``, the change log and the guide for contributors."""
    documents = [
        *sorted((root / "docs").glob("*.md")),
        root / "CHANGELOG.md",
        root / "CONTRIBUTING.md",
    ]
    found = []
    for path in documents:
        if path.exists():
            found.append(path.stem.lower())
            yield Page(f"developers/{path.stem.lower()}", path.read_text(encoding="utf-8"))
    text = "How plugjax is built, tested and measured."
    yield Page("developers/index", f"{heading('For developers')}\n\n{text}\n\n{toctree(found)}\n")


def generated(root: Path, cells: dict[str, dict[str, Cell]]) -> Iterator[Page]:
    """Reference pages, the page of differences, and the picture of the packages."""
    yield from names.pages()
    yield from configuration.pages()
    yield from hooks.pages()
    yield from errors.pages()
    yield from commands.pages()
    yield from matrix_page.pages(cells, root)
    yield from conformance.pages(root)
    yield from differences.pages(root)
    yield from house_page.pages(root, set(matrix.files(cells)))
    parts = [
        "names/index",
        "options",
        "environment",
        "commands",
        "hooks",
        "errors/index",
        "matrix",
        "conformance",
    ]
    text = "Generated from the code that is installed, so it says what this version does."
    yield Page("reference/index", f"{heading('Reference')}\n\n{text}\n\n{toctree(parts)}\n")


def stage(pages: Iterable[Page], folder: Path) -> None:
    """Write pages that changed, and delete those that are no more, so that Sphinx reads only what changed."""
    kept = set()
    for page in pages:
        path = folder / f"{page.path}.md"
        kept.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != page.text:
            path.write_text(page.text, encoding="utf-8")
    for path in folder.rglob("*.md"):
        if path not in kept:
            path.unlink()
