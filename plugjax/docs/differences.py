"""The page "Coming from JAX": the list of intended differences in ``docs/status.md``, and the tests' tables of differences."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

from plugjax.docs.docstrings import inline
from plugjax.docs.pages import Page, table

_SURVEY = "tests/survey/differences.py"


def section(text: str, title: str) -> str:
    r"""The body of a section of a Markdown document.

    Raises:
        ValueError: it has no such section.

    Example:
        >>> from plugjax.docs.differences import section
        >>> section("# A\n## B\ntext\n## C\n", "B")
        'text'
    """
    parts = f"\n{text}".split(f"\n## {title}\n")
    if len(parts) != 2:
        raise ValueError(f"the document has no section {title!r}")
    return parts[1].split("\n## ")[0].strip()


def _survey(root: Path) -> list[tuple[str, str, str]]:
    """Rows of the survey's tables of differences: program, backends, and why it differs."""
    path = root / _SURVEY
    if not path.exists():
        return []
    found = runpy.run_path(str(path))
    rows = [(name, "all", why) for name, why in found["ON_PURPOSE"].items()]
    for backend, programs in found["BY_BACKEND"].items():
        rows += [(name, backend, why) for name, why in programs.items()]
    return rows


def pages(root: Path) -> Iterator[Page]:
    """The page, from the template ``docs/site/start/coming_from_jax.md.in``."""
    template = (root / "docs/site/start/coming_from_jax.md.in").read_text(encoding="utf-8")
    status = section((root / "docs/status.md").read_text(encoding="utf-8"), "Differences from JAX")
    rows = [(f"`{name}`", backend, inline(why)) for name, backend, why in _survey(root)]
    surveyed = table(("program", "backend", "why it differs"), rows)
    text = template.replace("@DIFFERENCES@", status).replace("@SURVEY@", surveyed)
    yield Page("start/coming_from_jax", text)
