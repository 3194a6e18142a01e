"""The arrays that exist now, by device and type, with the memory that they hold."""

from __future__ import annotations

from collections import Counter

import plugjax
from plugjax.visualize.elements import (
    bytes_words,
    drawing,
    note,
    plain_text,
    rectangle,
    shortened,
    table,
)
from plugjax.visualize.palette import cycle_class
from plugjax.visualize.picture import Picture

_WIDTH, _ROW, _LEFT = 720.0, 22.0, 300.0
# Kinds of arrays that are drawn, and rows of the table.
_DRAWN, _ROWS = 20, 100


def live_arrays(backend: str | None = None) -> Picture:
    """The memory of the arrays that the process has now, by device and type.

    Args:
        backend: arrays on devices of this backend; the default one's, if it is left out.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> x = jnp.ones((3, 5, 7))
        >>> "float32[3,5,7]" in plugjax.visualize.live_arrays().svg
        True
    """
    found = plugjax.live_arrays(backend)
    number: Counter[tuple[str, str]] = Counter()
    held: Counter[tuple[str, str]] = Counter()
    for x in found:
        key = (x.aval.str_short(), _place(x))
        number[key] += 1
        held[key] += x.nbytes
    largest = held.most_common()
    total = sum(held.values())
    title = f"{len(found):,} arrays hold {bytes_words(total)}"
    places = list(dict.fromkeys(place for (_, place), _ in largest))
    most = max(held.values(), default=0) or 1
    shapes = []
    for row, ((kind, place), size) in enumerate(largest[:_DRAWN]):
        y = 4 + row * _ROW
        label = shortened(f"{number[kind, place]} of {kind}", int(_LEFT / 7.3) - 1)
        shapes.append(plain_text(_LEFT - 6, y + 14, label, anchor="end"))
        width = max((_WIDTH - _LEFT - 90) * size / most, 1)
        css = cycle_class(places.index(place))
        shapes.append(rectangle(_LEFT, y, width, _ROW - 4, css, f"{kind} on {place}"))
        shapes.append(plain_text(_LEFT + width + 6, y + 14, bytes_words(size), css="pj-small"))
    svg = drawing(_WIDTH, 8 + _ROW * min(len(largest), _DRAWN), shapes, title)
    rows = [(n, kind, place, bytes_words(held[kind, place])) for (kind, place), n in number.items()]
    rows.sort(key=lambda row: held[row[1], row[2]], reverse=True)
    more = note(f"… {len(rows) - _ROWS:,} more kinds") if len(rows) > _ROWS else ""
    heads = ("number", "type", "device", "size")
    return Picture(title, svg, svg + table(heads, rows[:_ROWS]) + more)


def _place(x: plugjax.Array) -> str:
    devices = x.sharding.devices
    return str(devices[0]) if len(devices) == 1 else f"{devices[0]} and {len(devices) - 1} more"


__all__ = ["live_arrays"]
