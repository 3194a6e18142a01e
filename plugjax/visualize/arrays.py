"""An array at a glance: a small picture of its values, statistics, its device and how it is spread."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from plugjax.extend.core import Array
from plugjax.visualize.elements import (
    bytes_words,
    drawing,
    folded,
    note,
    path,
    plain_text,
    preformatted,
    table,
)
from plugjax.visualize.palette import COLOURS
from plugjax.visualize.picture import Picture
from plugjax.visualize.samples import Sample, sample, statistics
from plugjax.visualize.spreading import sharding

# Elements that a picture shows along an axis, those of a line, and pixels of the longer side.
_ACROSS, _POINTS, _SIDE = 96, 240, 220.0
# Elements of arrays whose values are written out.
_WRITTEN = 1000


def picture_of_array(x: Array) -> Picture:
    """An array as a picture: its values as a line or an image, statistics, and where it is.

    Of an array of more than two axes the image shows the first index along the others; of a large one, a sample.
    """
    title = x.aval.str_short()
    if x.is_deleted():
        body = note("deleted: it was donated to a compiled function, or .delete() was called")
        return Picture(
            title, drawing(300, 22, [plain_text(4, 15, f"{title}, deleted")], title), body
        )
    found = sample(x)
    svg = _values(found, title)
    devices = x.sharding.devices
    where = str(devices[0]) if len(devices) == 1 else f"{len(devices)} devices"
    facts = [
        ("device", where),
        ("size", f"{x.size:,} elements, {bytes_words(_bytes(x))}"),
        ("committed", "yes" if x.committed else "no"),
    ]
    if x.weak_type:
        facts.append(("weak type", "yes"))
    if found is not None:
        facts += statistics(found)
        facts += [("looked at", found.about)] if found.about else []
    else:
        facts.append(("values", f"{x.dtype} has none that a picture shows"))
    body = svg + table(("", ""), facts)
    if len(devices) > 1:
        spread = sharding(x.shape, x.sharding)
        body += folded(f"sharding: {x.sharding}", spread.body)
    if x.is_fully_addressable and x.size <= _WRITTEN:
        body += folded("values", preformatted(repr(x)))
    return Picture(title, svg, body)


def _bytes(x: Array) -> int:
    try:
        return int(x.nbytes)
    except AttributeError:  # keys: their dtype has no size of its own
        return 0


def _values(found: Sample | None, title: str) -> str:
    if found is None or not found.values.size:
        return drawing(300, 22, [plain_text(4, 15, title)], title)
    values = np.abs(found.values) if found.values.dtype.kind == "c" else found.values
    if values.ndim == 0:
        return drawing(300, 22, [plain_text(4, 15, found.values[()])], title)
    if values.ndim == 1:
        return _line(values, title)
    while values.ndim > 2:
        values = values[0]
    return _image(values, title)


def _line(values: np.ndarray[Any, Any], title: str) -> str:
    every = -(-len(values) // _POINTS)
    shown = values[::every].astype(np.float64)
    finite = np.isfinite(shown)
    if not finite.any():
        return drawing(300, 22, [plain_text(4, 15, f"{title}: nothing finite")], title)
    low, high = shown[finite].min(), shown[finite].max()
    with np.errstate(over="ignore", invalid="ignore"):
        heights = np.nan_to_num((shown - low) / ((high - low) or 1.0))
    across = (2 * _SIDE) / max(len(shown) - 1, 1)
    # A line ends where a value is not finite.
    pieces: list[list[tuple[float, float]]] = [[]]
    for i, height in enumerate(heights):
        if not finite[i]:
            pieces.append([])
            continue
        pieces[-1].append((4 + i * across, 64 - 60 * float(height)))
    shapes = [path([*p, (p[-1][0] + 0.5, p[-1][1])], "pj-curve") for p in pieces if p]
    return drawing(2 * _SIDE + 8, 68, shapes, title)


def _image(values: np.ndarray[Any, Any], title: str) -> str:
    rows, columns = values.shape
    shown = values[:: -(-rows // _ACROSS), :: -(-columns // _ACROSS)].astype(np.float64)
    scale = _SIDE / max(rows, columns)
    width, height = max(columns * scale, 8.0), max(rows * scale, 8.0)
    data = base64.b64encode(_png(_coloured(shown))).decode()
    image = (
        f'<image x="0" y="0" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )
    return drawing(width, height, [image], title)


def _coloured(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values as RGBA bytes: from the first colour to the second; what is not finite is red."""
    finite = np.isfinite(values)
    low, high = (values[finite].min(), values[finite].max()) if finite.any() else (0.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        # Of halves, so that the difference of the largest numbers is a number.
        place = np.nan_to_num((values / 2 - low / 2) / ((high / 2 - low / 2) or 1.0))[..., None]
    first, last = _rgb("blue") * 0.35, _rgb("yellow")
    mixed = np.clip(first + (last - first) * place, 0, 255)
    mixed[~finite] = _rgb("red")
    alpha = np.full((*values.shape, 1), 255.0)
    return np.concatenate([mixed, alpha], axis=-1).astype(np.uint8)


def _rgb(name: str) -> np.ndarray[Any, Any]:
    code = COLOURS[name].lstrip("#")
    return np.array([int(code[i : i + 2], 16) for i in (0, 2, 4)], np.float64)


def _png(pixels: np.ndarray[Any, Any]) -> bytes:
    """RGBA pixels as a PNG file.

    Reference:
        Portable Network Graphics (PNG) Specification, sections 5 and 11.
    """
    height, width = pixels.shape[:2]
    # Each row begins with the number of its filter, of which 0 is none.
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


__all__ = ["picture_of_array"]
