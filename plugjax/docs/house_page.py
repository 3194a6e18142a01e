"""The page of the house: a picture of the packages by floors, drawn as SVG, with what a script shows at a click."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from plugjax.docs import sources
from plugjax.docs.docstrings import inline
from plugjax.docs.house import ROOF, Room, rooms
from plugjax.docs.pages import Page, heading, table

_TEXT = """\
Rooms are packages. Each may import from lower floors only, which import-linter checks at every change. The wing on the right has the packages of the
plugins: they stand on the house by the same entry points as packages of others. Click a room, or move to it with the Tab key and press Enter.
"""
_AFTER = """\
Purposes are those of [the architecture](../developers/architecture.md), floors those of the contract in `pyproject.toml`. Imports were read from the source when this page was built: those for types
and those inside functions count, modules that are loaded by a name in a string do not.
"""
_WIDTH, _WING, _HEIGHT, _GAP = 560, 130, 34, 6


def _room(room: Room, x: float, y: float, width: float, height: float) -> str:
    middle = f'x="{x + width / 2:.0f}" y="{y + height / 2:.0f}"'
    size = ' class="small"' if width < 8 * len(room.name) + 8 else ""
    return (
        f'<g class="room" data-room="{room.name}" tabindex="0" role="button" aria-label="{escape(room.name)}">'
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="4"/>'
        f"<text {middle}{size}>{escape(room.name)}</text></g>"
    )


def _row(found: list[Room], x: float, y: float, width: float) -> Iterator[str]:
    """Rooms side by side, as wide as the square roots of their numbers of files say."""
    parts = [max(len(room.files), 25) ** 0.5 for room in found]
    free = width - _GAP * (len(found) - 1)
    for room, part in zip(found, parts, strict=True):
        own = free * part / sum(parts)
        yield _room(room, x, y, own, _HEIGHT)
        x += own + _GAP


def picture(found: Mapping[str, Room]) -> str:
    """The SVG."""
    floors: dict[int, list[Room]] = defaultdict(list)
    for room in found.values():
        floors[room.floor].append(room)
    wing = floors.pop(-1, [])
    top = max(floors)
    height = (top + 1) * (_HEIGHT + _GAP)
    drawn: list[str] = []
    for floor, inside in floors.items():
        y = (top - floor) * (_HEIGHT + _GAP)
        drawn += _row(inside, 0, y, _WIDTH)
    step = height / max(len(wing), 1)
    for i, room in enumerate(wing):
        drawn.append(_room(room, _WIDTH + 20, i * step, _WING, step - _GAP))
    return (
        f'<svg id="house" viewBox="-2 -2 {_WIDTH + 20 + _WING + 4} {height}" role="group" aria-label="The packages of plugjax by floors">'
        f"{''.join(drawn)}</svg>"
    )


def data(found: Mapping[str, Room], shown: Collection[str]) -> dict[str, Any]:
    """What the script shows; ``shown`` are the files that have a page of source."""
    users: dict[str, dict[str, int]] = {name: {} for name in found}
    for room in found.values():
        for name, count in room.imports.items():
            users[name][room.name] = count
    return {
        name: {
            "title": name if name == ROOF or name.startswith("plugjax_") else f"plugjax.{name}",
            "purpose": room.purpose.replace("`", ""),
            "changes": room.changes.replace("`", ""),
            "files": [
                {"path": path, "says": says, "page": path in shown}
                for path, says in room.files.items()
            ],
            "imports": dict(room.imports.most_common()),
            "users": dict(sorted(users[name].items(), key=lambda item: -item[1])),
        }
        for name, room in found.items()
    }


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{inline(name)} ({count})" for name, count in counts.items()) or "none"


def pages(root: Path, files: Collection[str]) -> Iterator[Page]:
    """One page; ``files`` have pages of source."""
    found = rooms(root)
    facts = data(found, {sources.relative(file, root) for file in files})
    text = json.dumps(facts, separators=(",", ":")).replace("</", "<\\/")
    rows = [
        (
            f"`{fact['title']}`",
            str(len(fact["files"])),
            _counted(fact["users"]),
            _counted(fact["imports"]),
        )
        for fact in facts.values()
    ]
    summary = table(("package", "files", "imported by (files)", "imports (files)"), rows)
    yield Page(
        "how_it_works/house",
        f"{heading('The house')}\n\n{_TEXT}\n"
        f'```{{raw}} html\n<div class="house">{picture(found)}\n<div id="house-room" aria-live="polite"><p>Click a room.</p></div></div>\n'
        f'<script type="application/json" id="house-data">{text}</script>\n<script src="../_static/house.js" defer></script>\n```\n\n{_AFTER}\n'
        f"{heading('The same as a table', 2)}\n\n{summary}\n\n{heading('Next', 2)}\n\n[The life of a sine](sine.md) walks through the rooms.\n",
    )
