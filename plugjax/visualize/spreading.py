"""Pictures of meshes, and of how arrays are cut into parts that devices hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Array, Device, Sharding, Tracer, as_array
from plugjax.extend.meshes import AbstractMesh, Mesh, check_compatible_aval
from plugjax.visualize.elements import (
    CHARACTER,
    LINE,
    drawing,
    note,
    plain_text,
    rectangle,
    shortened,
    table,
)
from plugjax.visualize.palette import cycle_class
from plugjax.visualize.picture import Picture

# Rectangles that are drawn, and rows of tables.
_MOST = 512
_CELL_WIDTH, _CELL_HEIGHT, _GAP = 84.0, 34.0, 18.0
_LARGEST, _SMALLEST = 440.0, 48.0


def mesh(mesh: Mesh | AbstractMesh) -> Picture:
    """The devices of a mesh in their places, with the names of its axes.

    The last axis goes to the right, the one before it down; each index along the others has a grid of its own.

    Args:
        mesh: the mesh; an abstract one has places without devices.

    Example:
        >>> import plugjax
        >>> mesh = plugjax.make_mesh((1,), ("rows",), devices=plugjax.devices("numpy"))
        >>> "rows=1" in plugjax.visualize.mesh(mesh).svg
        True
    """
    names, sizes = tuple(map(str, mesh.axis_names)), tuple(mesh.axis_sizes)
    abstract = isinstance(mesh, AbstractMesh)
    devices = [None] * mesh.size if abstract else list(mesh.devices.flat)
    grid = _Grid(names, sizes, _CELL_WIDTH, _CELL_HEIGHT)
    for number, (place, device) in enumerate(
        zip(itertools.product(*map(range, sizes)), devices, strict=True)
    ):
        at = ", ".join(f"{name}={i}" for name, i in zip(names, place, strict=True))
        label = "" if device is None else device_label(device)
        grid.cell(place, label, f"{label} {at}".strip(), number)
    title = f"mesh {', '.join(f'{n}={s}' for n, s in zip(names, sizes, strict=True))}"
    kinds = zip(names, sizes, mesh.axis_types, strict=True)
    rows = [(name, size, kind) for name, size, kind in kinds]
    svg = grid.drawn(title)
    return Picture(title, svg, svg + table(("axis", "size", "type"), rows) + grid.missing())


def sharding(shape: Sequence[int], sharding: Sharding) -> Picture:
    """How an array is cut, with the devices that hold each part.

    The last axis goes to the right, the one before it down; each part along the others has a drawing of its own.

    Args:
        shape: of the array, of any rank.
        sharding: how it is spread.

    Raises:
        ValueError: an array of this shape cannot be cut so.

    Example:
        >>> import plugjax
        >>> mesh = plugjax.make_mesh((1,), ("x",), devices=plugjax.devices("numpy"))
        >>> picture = plugjax.visualize.sharding((4, 2), plugjax.NamedSharding(mesh, plugjax.P("x")))
        >>> "[0:4, 0:2]" in picture.svg
        True
    """
    shape = tuple(shape)
    check_compatible_aval(sharding, shape)
    ndim = len(shape)
    counts = tuple(sharding.counts(ndim))
    holders: dict[tuple[int, ...], list[Device]] = {}
    for device, position in zip(sharding.devices, sharding.positions(ndim), strict=True):
        holders.setdefault(tuple(position), []).append(device)
    labels = {place: devices_label(devices) for place, devices in holders.items()}
    width, height = _part_size(shape, counts, max(map(len, labels.values()), default=0))
    axes = tuple(f"axis {i}" for i in range(ndim))
    grid = _Grid(axes, counts, width, height)
    rows: list[tuple[str, str]] = []
    for place, devices in sorted(holders.items()):
        part = _index_text(shape, counts, place)
        number = math.prod(counts) and _flat(place, counts)
        grid.cell(place, labels[place], f"{part} on {', '.join(map(str, devices))}", number)
        if len(rows) < _MOST:
            rows.append((part, ", ".join(map(str, devices))))
    title = f"array of shape {shape}"
    svg = grid.drawn(title)
    more = grid.missing()
    return Picture(title, svg, svg + note(sharding) + table(("part", "devices"), rows) + more)


def array(x: Any) -> Picture:
    """How an array is spread over devices.

    Args:
        x: the array, or what becomes one.

    Raises:
        TypeError: it is a tracer, of which nothing is spread yet.

    Example:
        >>> import numpy as np, plugjax
        >>> plugjax.visualize.array(np.ones((4, 2), np.float32))
        Picture('float32[4,2] on numpy:0')
    """
    if isinstance(x, Tracer):
        raise TypeError(
            f"visualize.array: {x!r} is a tracer. Look at plugjax.debug.inspect_array_sharding within a traced function."
        )
    found: Array = as_array(x, "visualize.array")
    shown = sharding(found.aval.shape, found.sharding)
    where = devices_label(found.sharding.devices)
    where = str(found.device) if len(found.sharding.devices) == 1 else where
    return Picture(f"{found.aval.str_short()} on {where}", shown.svg, shown.body)


def device_label(device: Device) -> str:
    """A device in few characters, with its process if there are several."""
    return f"{device.platform.upper()} {device.id}"


def devices_label(devices: Sequence[Device]) -> str:
    """Several devices in few characters."""
    ids = sorted(d.id for d in devices)
    text = ",".join(map(str, ids))
    if len(ids) > 2 and ids == list(range(ids[0], ids[-1] + 1)):
        text = f"{ids[0]}-{ids[-1]}"
    return f"{devices[0].platform.upper()} {text}"


def _flat(place: Sequence[int], counts: Sequence[int]) -> int:
    number = 0
    for i, count in zip(place, counts, strict=True):
        number = number * count + i
    return number


def _index_text(shape: Sequence[int], counts: Sequence[int], place: Sequence[int]) -> str:
    """The part as one would write it in brackets."""
    parts = (
        f"{i * (size // count)}:{(i + 1) * (size // count)}"
        for size, count, i in zip(shape, counts, place, strict=True)
    )
    return f"[{', '.join(parts)}]"


def _part_size(shape: Sequence[int], counts: Sequence[int], letters: int) -> tuple[float, float]:
    """Width and height of a part; the picture has about the proportions of the array."""
    if not shape:
        return _CELL_WIDTH, _CELL_HEIGHT
    rows, columns = (1, 1, *shape)[-2:]
    rows_cut, columns_cut = (1, 1, *counts)[-2:]
    ratio = min(max(rows / max(columns, 1), 1 / 8), 2.0)
    width, height = _LARGEST, _LARGEST * ratio
    if height > _LARGEST:
        width, height = width * _LARGEST / height, _LARGEST
    least = max(_SMALLEST, min(letters, 24) * CHARACTER + 12)
    return max(width / columns_cut, least), max(height / rows_cut, LINE + 10)


class _Grid:
    """Cells by their index along named axes: the last two in rows and columns, the others as grids of their own."""

    def __init__(
        self, names: Sequence[str], sizes: Sequence[int], width: float, height: float
    ) -> None:
        self._names = tuple(names)
        self._sizes = tuple(sizes)
        self._width, self._height = width, height
        self._rows, self._columns = (1, 1, *sizes)[-2:]
        self._shapes: list[str] = []
        self._left_out = 0
        self._count = 0
        self._far = [0.0, 0.0]

    def cell(self, place: Sequence[int], label: str, hint: str, number: int) -> None:
        """Draw one more cell, if there is space."""
        if self._count >= _MOST:
            self._left_out += 1
            return
        self._count += 1
        row, column = (0, 0, *place)[-2:]
        panel = _flat(place[:-2], self._sizes[:-2])
        left = 24 + panel * (self._columns * self._width + _GAP)
        if row == column == 0 and len(place) > 2:
            lead = zip(self._names, place[:-2], strict=False)
            self._shapes.append(plain_text(left, 30, ", ".join(f"{n}={i}" for n, i in lead)))
        top = 38 if len(place) > 2 else 22
        x, y = left + column * self._width, top + row * self._height
        self._far = [max(self._far[0], x + self._width), max(self._far[1], y + self._height)]
        css = cycle_class(number)
        self._shapes.append(rectangle(x, y, self._width, self._height, css, hint))
        fitting = shortened(label, max(int((self._width - 4) / CHARACTER), 3))
        middle = (x + self._width / 2, y + self._height / 2 + 4)
        self._shapes.append(plain_text(*middle, fitting, anchor="middle"))

    def drawn(self, title: str) -> str:
        """All cells as a drawing."""
        heads = [f"{n}={s}" for n, s in zip(self._names, self._sizes, strict=True)]
        down = f"↓ {heads[-2]}  " if len(heads) > 1 else ""
        across = f"→ {heads[-1]}" if heads else ""
        axes = f"{down}{across}"
        shapes = [plain_text(24, 14, axes, css="pj-small"), *self._shapes]
        width = max(self._far[0], 24 + len(axes) * CHARACTER)
        return drawing(width + 4, self._far[1] + 6, shapes, title)

    def missing(self) -> str:
        """A note on what there was no space for."""
        return note(f"… {self._left_out:,} more are not drawn") if self._left_out else ""


__all__ = ["array", "device_label", "devices_label", "mesh", "sharding"]
