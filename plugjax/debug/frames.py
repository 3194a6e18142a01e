"""Frames of the user's program for a debugger: names, values, source.

A frame is a pytree whose leaves are the tracers among its variables. A callback that takes frames gets them with values
in the tracers' places.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import Tracer, is_internal


@dataclass(frozen=True)
class DebuggerFrame:
    """A frame.

    Attributes:
        filename: the source file.
        lineno: the current line, from 1.
        name: the function.
        locals: its variables.
        globals: the variables of its module.
        source: lines of the function, empty if they are not known.
        offset: index of the current line in ``source``.
    """

    filename: str
    lineno: int
    name: str
    locals: dict[str, Any]
    globals: dict[str, Any]
    source: Sequence[str]
    offset: int | None


def frames_above(frame: FrameType | None, *, all_frames: bool = False) -> list[DebuggerFrame]:
    """The user's frames from ``frame`` outwards, innermost first; the framework's too if ``all_frames``."""
    found = []
    while frame is not None:
        if all_frames or not is_internal(frame.f_code):
            found.append(_described(frame))
        frame = frame.f_back
    return found


def _described(frame: FrameType) -> DebuggerFrame:
    code = frame.f_code
    try:
        source, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        source, first = [], 1
    lines = [line.rstrip("\n") for line in source]
    # The body of a module starts at line 0.
    offset = frame.f_lineno - max(first, 1)
    known = 0 <= offset < len(lines)
    return DebuggerFrame(
        code.co_filename,
        frame.f_lineno,
        code.co_name,
        dict(frame.f_locals),
        frame.f_globals,
        lines if known else [],
        offset if known else None,
    )


class TracedFrames:
    """Frames without their tracers, so that they do not keep the tracers alive.

    Args:
        frames: the frames with tracers.
    """

    def __init__(self, frames: Sequence[DebuggerFrame]) -> None:
        self._positions: dict[int, int] = {}
        self._tracers: list[Any] = []
        self._frames = [
            replace(frame, locals={n: self._opened(v) for n, v in frame.locals.items()})
            for frame in frames
        ]

    def take(self) -> list[Any]:
        """Remove and return the tracers among the variables, in order, each once."""
        taken, self._tracers = self._tracers, []
        self._positions.clear()
        return taken

    def filled(self, values: Sequence[Any]) -> list[DebuggerFrame]:
        """The frames with values in place of the tracers."""
        return [
            replace(frame, locals={n: _closed(v, values) for n, v in frame.locals.items()})
            for frame in self._frames
        ]

    def _opened(self, value: Any) -> Any:
        try:
            leaves, tree = pytree.flatten(value)
        except (
            TypeError,
            ValueError,
        ):  # A dict whose keys have no order, or a broken container.
            return value
        if not any(map(_is_live, leaves)):
            return value
        return _Opened(tree, [self._slot(x) if _is_live(x) else x for x in leaves])

    def _slot(self, tracer: Any) -> _Slot:
        position = self._positions.setdefault(id(tracer), len(self._tracers))
        if position == len(self._tracers):
            self._tracers.append(tracer)
        return _Slot(position)


@dataclass(frozen=True)
class _Slot:
    """The place of the tracer with this index."""

    index: int


@dataclass(frozen=True)
class _Opened:
    """A variable that holds tracers, flattened."""

    tree: Any
    leaves: list[Any]


def _closed(value: Any, values: Sequence[Any]) -> Any:
    if type(value) is not _Opened:
        return value
    full = [values[x.index] if type(x) is _Slot else x for x in value.leaves]
    return pytree.unflatten(value.tree, full)


def _is_live(leaf: Any) -> bool:
    return isinstance(leaf, Tracer) and leaf._trace.alive
