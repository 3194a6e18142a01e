"""The trace of a run as a timeline: what ran when, in which thread, and for how long."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plugjax import profiler
from plugjax.visualize.elements import (
    CHARACTER,
    drawing,
    note,
    path,
    plain_text,
    rectangle,
    shortened,
    table,
)
from plugjax.visualize.palette import KINDS, kind_class
from plugjax.visualize.picture import Picture

_WIDTH, _LEFT, _ROW, _TOP = 960.0, 10.0, 18.0, 44.0
# Events that are drawn, the longest ones; rows of a thread; rows of the table.
_MOST, _DEEPEST, _ROWS = 1500, 12, 40


@dataclass(frozen=True)
class Event:
    """A span of a trace; times in microseconds."""

    name: str
    kind: str
    lane: tuple[Any, Any]
    start: float
    duration: float
    details: str


@dataclass
class Run:
    """What :func:`record` and :func:`record_memory` give.

    Attributes:
        picture: what was recorded, once the block has ended.
    """

    picture: Picture | None = None

    def _repr_html_(self) -> str:
        return "" if self.picture is None else self.picture.html


def timeline(trace: os.PathLike[str] | str) -> Picture:
    """A trace that ``plugjax.profiler`` wrote, as a timeline.

    Each thread has rows of its own; what a span contains is below it. Long traces show their longest events, and how many
    are left out. The table sums events up by name.

    Args:
        trace: the folder that the trace was written to, of which the newest trace is taken; or a file ``*.trace.json.gz``.

    Raises:
        FileNotFoundError: there is no trace.

    Example:
        >>> import tempfile, plugjax, plugjax.numpy as jnp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with plugjax.profiler.trace(folder):
        ...         with plugjax.profiler.TraceAnnotation("my work"):
        ...             x = jnp.ones(3) + 1
        ...     picture = plugjax.visualize.timeline(folder)
        >>> "my work" in picture.svg
        True
    """
    file = _newest(Path(trace))
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        found = json.load(stream)["traceEvents"]
    return picture_of_events(found)


@contextmanager
def record() -> Iterator[Run]:
    """Record what a block does; its timeline is the ``picture`` of what the ``with`` gives.

    Raises:
        RuntimeError: a trace is being taken already.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.visualize.record() as run:
        ...     y = plugjax.jit(jnp.sin)(1.0)
        >>> "sin" in run.picture.svg
        True
    """
    run = Run()
    with tempfile.TemporaryDirectory() as folder:
        with profiler.trace(folder):
            yield run
        run.picture = timeline(folder)


def _newest(trace: Path) -> Path:
    if trace.is_file():
        return trace
    files = sorted(trace.rglob("*.trace.json.gz"), key=lambda file: file.stat().st_mtime)
    if not files:
        raise FileNotFoundError(
            f"visualize.timeline: no *.trace.json.gz in {trace}. Write one with plugjax.profiler.trace(folder)."
        )
    return files[-1]


def picture_of_events(trace: Sequence[dict[str, Any]]) -> Picture:
    """The events of a trace, in Chrome's form, as a timeline."""
    lanes = {
        (e.get("pid"), e.get("tid")): str(e.get("args", {}).get("name", ""))
        for e in trace
        if e.get("ph") == "M" and e.get("name") == "thread_name"
    }
    events = [_event(e) for e in trace if e.get("ph") in ("X", "i") and "ts" in e]
    drawn = sorted(events, key=lambda e: e.duration, reverse=True)[:_MOST]
    start = min((e.start for e in events), default=0.0)
    whole = max((e.start + e.duration for e in events), default=0.0) - start or 1.0
    title = f"{time_words(whole)}, {len(events):,} events"
    svg = drawing(*_timeline(drawn, lanes, start, whole), title)
    left_out = len(events) - len(drawn)
    more = note(f"{left_out:,} shorter events are not drawn.") if left_out else ""
    return Picture(title, svg, svg + more + _summary(events))


def _event(event: dict[str, Any]) -> Event:
    args = event.get("args") or {}
    details = ", ".join(f"{key}={value}" for key, value in args.items())
    return Event(
        str(event.get("name", "")), str(event.get("cat", "other")), (event.get("pid"), event.get("tid")),
        float(event["ts"]), float(event.get("dur", 0.0)), details,
    )  # fmt: skip


def _timeline(
    events: Sequence[Event], lanes: dict[tuple[Any, Any], str], start: float, whole: float
) -> tuple[float, float, list[str]]:
    """Width, height and shapes."""
    scale = (_WIDTH - 2 * _LEFT) / whole
    shapes = list(_legend(events))
    y = _TOP
    by_lane: dict[tuple[Any, Any], list[Event]] = defaultdict(list)
    for event in events:
        by_lane[event.lane].append(event)
    for lane, inside in by_lane.items():
        shapes.append(plain_text(_LEFT, y + 12, lanes.get(lane) or f"thread {lane[1]}"))
        y += _ROW
        ends: list[float] = []
        for event in sorted(inside, key=lambda e: (e.start, -e.duration)):
            while ends and ends[-1] <= event.start:
                ends.pop()
            depth = min(len(ends), _DEEPEST - 1)
            ends.append(event.start + event.duration)
            x = _LEFT + (event.start - start) * scale
            shapes += _bar(event, x, y + depth * _ROW, max(event.duration * scale, 0.7))
        y += _ROW * _deepest(inside) + 6
    return _WIDTH, y + 22, [*shapes, *_axis(whole, scale, y)]


def _deepest(events: Sequence[Event]) -> int:
    """Number of rows that the events of a thread need."""
    ends: list[float] = []
    deepest = 1
    for event in sorted(events, key=lambda e: (e.start, -e.duration)):
        while ends and ends[-1] <= event.start:
            ends.pop()
        ends.append(event.start + event.duration)
        deepest = max(deepest, len(ends))
    return min(deepest, _DEEPEST)


def _bar(event: Event, x: float, y: float, width: float) -> Iterator[str]:
    hint = f"{event.name}\n{event.kind}, {time_words(event.duration)}\n{event.details}".strip()
    yield rectangle(x, y, width, _ROW - 2, kind_class(event.kind), hint, 2)
    letters = int((width - 4) / CHARACTER)
    if letters >= 4:
        yield plain_text(x + 3, y + 12, shortened(event.name, letters))


def _legend(events: Sequence[Event]) -> Iterator[str]:
    x = _LEFT
    for kind in dict.fromkeys(e.kind if e.kind in KINDS else "other" for e in events):
        yield rectangle(x, 6, 12, 12, kind_class(kind))
        yield plain_text(x + 16, 16, kind)
        x += 30 + len(kind) * CHARACTER


def _axis(whole: float, scale: float, y: float) -> Iterator[str]:
    yield path([(_LEFT, y), (_WIDTH - _LEFT, y)], "pj-line")
    for i in range(5):
        at = whole * i / 4
        x = _LEFT + at * scale
        yield path([(x, y), (x, y + 4)], "pj-line")
        anchor = "start" if i == 0 else "end" if i == 4 else "middle"
        yield plain_text(x, y + 16, time_words(at), css="pj-small", anchor=anchor)


def _summary(events: Sequence[Event]) -> str:
    sums: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in events:
        sums[event.kind, event.name].append(event.duration)
    longest = sorted(sums.items(), key=lambda pair: sum(pair[1]), reverse=True)
    rows = [
        (
            shortened(name, 80),
            kind,
            f"{len(times):,}",
            time_words(sum(times)),
            time_words(max(times)),
        )
        for (kind, name), times in longest[:_ROWS]
    ]
    more = note(f"… {len(longest) - _ROWS:,} more names") if len(longest) > _ROWS else ""
    return table(("event", "kind", "number", "total", "longest"), rows) + more


def time_words(microseconds: float) -> str:
    """A number of microseconds for people."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.2f} s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.2f} ms"
    return f"{microseconds:.1f} µs"


__all__ = ["Run", "picture_of_events", "record", "time_words", "timeline"]
