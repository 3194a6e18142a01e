"""What every function of the package returns: a picture, as SVG and as HTML, for notebooks and for files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plugjax.visualize.elements import escaped
from plugjax.visualize.palette import HTML_STYLE, STYLE


@dataclass(frozen=True)
class Picture:
    """A picture that needs nothing but itself: no script, no network, no other file.

    Attributes:
        title: what it shows.
        svg: the drawing, a document of SVG.
        body: HTML around the drawing, without styles: what folds, tables and notes; the drawing alone, if empty.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> picture = plugjax.visualize.jaxpr(jnp.sin, 1.0)
        >>> picture
        Picture('jaxpr of sin')
        >>> picture.svg[:4]
        '<svg'
    """

    title: str
    svg: str
    body: str = ""

    @property
    def html(self) -> str:
        """A fragment of HTML with its styles: for a notebook or a page of one's own."""
        title = f'<div class="pj-title">{escaped(self.title)}</div>'
        return f'<div class="pj"><style>{STYLE}{HTML_STYLE}</style>{title}{self.body or self.svg}</div>'

    def save(self, path: os.PathLike[str] | str) -> None:
        """Write a file.

        Args:
            path: where; ``.svg`` for the drawing, ``.html`` for a page.

        Raises:
            ValueError: the name has another ending.
        """
        file = Path(path)
        if file.suffix == ".svg":
            file.write_text(self.svg, encoding="utf-8")
        elif file.suffix in (".html", ".htm"):
            file.write_text(_page(self.title, self.html), encoding="utf-8")
        else:
            raise ValueError(
                f"Picture.save: {file.name!r} ends neither in .svg nor in .html, the two forms of a picture."
            )

    def _repr_html_(self) -> str:
        return self.html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """All forms; what shows them takes the richest that it knows."""
        found = {"text/plain": repr(self), "image/svg+xml": self.svg, "text/html": self.html}
        return {
            kind: text
            for kind, text in found.items()
            if (not include or kind in include) and kind not in (exclude or ())
        }

    def __repr__(self) -> str:
        return f"Picture({self.title!r})"


def _page(title: str, fragment: str) -> str:
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><title>{escaped(title)}</title>'
        "<style>:root{color-scheme:light dark}body{margin:16px}</style></head>"
        f"<body>{fragment}</body></html>\n"
    )


__all__ = ["Picture"]
