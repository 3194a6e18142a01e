"""Generated pages, and what they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """A page of the site.

    Attributes:
        path: below the site's source, without the suffix.
        text: MyST Markdown.
    """

    path: str
    text: str


def heading(title: str, level: int = 1) -> str:
    """A heading."""
    return f"{'#' * level} {title}"


def toctree(paths: Sequence[str], depth: int = 1) -> str:
    """A list of links to pages, which is part of the site's tree."""
    return "\n".join(["```{toctree}", f":maxdepth: {depth}", "", *paths, "```"])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("\\\\|", "\\|")
