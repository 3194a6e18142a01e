"""Elements of SVG and HTML as text: every text and attribute is escaped here, and nowhere else."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from plugjax.visualize.palette import ALONE_STYLE, STYLE

# Width of a character of the pictures' font, and height of a line.
CHARACTER, LINE = 7.3, 16.0
# What XML does not allow at all, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(text: object) -> str:
    """Text for an element or an attribute; characters that XML forbids become question marks."""
    return html.escape(_FORBIDDEN.sub("?", str(text)), quote=True)


def shortened(text: str, length: int) -> str:
    """The text, or its start with an ellipsis."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def number(value: float) -> str:
    """A coordinate with one digit after the point."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def plain_text(x: float, y: float, content: object, *, css: str = "", anchor: str = "start") -> str:
    """A line of text that begins, ends or has its middle at ``x``."""
    named = f' class="{css}"' if css else ""
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{number(x)}" y="{number(y)}"{named}{placed}>{escaped(content)}</text>'


def rectangle(
    x: float, y: float, width: float, height: float, css: str, hint: object = "", radius: float = 3
) -> str:
    """A rectangle; the hint appears where one points at it."""
    shape = (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
        f'rx="{number(radius)}" class="{css}"'
    )
    return f"{shape}><title>{escaped(hint)}</title></rect>" if hint else f"{shape}/>"


def path(points: Iterable[tuple[float, float]], css: str) -> str:
    """A line through points."""
    drawn = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return f'<polyline points="{drawn}" class="{css}"/>'


def curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A line from above to below that leaves and arrives vertically."""
    (x0, y0), (x1, y1) = start, end
    bend = max((y1 - y0) / 2, 8)
    places = (x0, y0, x0, y0 + bend, x1, y1 - bend, x1, y1)
    a, b, c, d, e, f, g, h = map(number, places)
    return f'<path d="M{a} {b}C{c} {d} {e} {f} {g} {h}" class="pj-line"/>'


def drawing(width: float, height: float, shapes: Iterable[str], label: str) -> str:
    """A picture of its own: the shapes, their styles, and a label for those who do not see it."""
    size = f'width="{number(width)}" height="{number(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pj" role="img" {size} '
        f'viewBox="0 0 {number(width)} {number(height)}" aria-label="{escaped(label)}">'
        f"<style>{STYLE}{ALONE_STYLE}</style>{''.join(shapes)}</svg>"
    )


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; the cells are text."""
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded(summary: object, content: str, *, opened: bool = False) -> str:
    """Content that one click opens and closes; the content is HTML already."""
    state = ' open=""' if opened else ""
    return f"<details{state}><summary>{escaped(summary)}</summary>{content}</details>"


def preformatted(text: str, limit: int = 20_000) -> str:
    """Text as it stands, up to a number of characters."""
    more = f"\n… {len(text) - limit:,} more characters" if len(text) > limit else ""
    return f"<pre>{escaped(text[:limit])}{more}</pre>"


def note(text: object) -> str:
    """A sentence in smaller weight than the picture."""
    return f'<div class="pj-note">{escaped(text)}</div>'


def bytes_words(size: float) -> str:
    """A number of bytes for people.

    Example:
        >>> from plugjax.visualize.elements import bytes_words
        >>> bytes_words(12), bytes_words(3 << 20)
        ('12 B', '3.0 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


__all__ = [
    "CHARACTER", "LINE", "bytes_words", "curve", "drawing", "escaped", "folded", "note", "number", "path", "plain_text",
    "preformatted", "rectangle", "shortened", "table",
]  # fmt: skip
