"""The events of a trace: spans of time with a name, by thread, in the form of Chrome's trace events."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from plugjax.profiler.measured_memory import MemoryRecording

# What a span is of; each kind is a row of events in a viewer besides the thread.
KINDS = ("tracing", "lowering", "compiling", "execution", "transfer", "annotation")


class Recording:
    """The events since a trace was started.

    Attributes:
        events: complete events (``ph`` is ``"X"``) and instants (``"i"``), times in microseconds since the start.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._start = time.perf_counter_ns()
        self._threads: dict[int, str] = {}

    def add(self, name: str, kind: str, start: int, details: Mapping[str, Any]) -> None:
        """A span that began at ``start`` and ends now."""
        span = {"ph": "X", "dur": (time.perf_counter_ns() - start) / 1000}
        self._write(name, kind, start, details, span)

    def mark(self, name: str, kind: str, details: Mapping[str, Any]) -> None:
        """What happens now, and of which it is not known how long it takes."""
        self._write(name, kind, time.perf_counter_ns(), details, {"ph": "i", "s": "t"})

    def _write(
        self, name: str, kind: str, at: int, details: Mapping[str, Any], form: Mapping[str, Any]
    ) -> None:
        thread = threading.get_ident()
        self._threads.setdefault(thread, threading.current_thread().name)
        self.events.append(
            {
                "name": name, "cat": kind, "pid": os.getpid(), "tid": thread,
                "ts": (at - self._start) / 1000, "args": dict(details), **form,
            }
        )  # fmt: skip

    def trace_events(self) -> list[dict[str, Any]]:
        """The events, after those that name the process and its threads."""
        named = {"ph": "M", "name": "process_name", "pid": os.getpid(), "args": {"name": "plugjax"}}
        threads = [
            {"ph": "M", "name": "thread_name", "pid": os.getpid(), "tid": t, "args": {"name": n}}
            for t, n in self._threads.items()
        ]
        return [named, *threads, *self.events]


class _Active:
    """The recordings in force, of a trace and of memory; one of each for all threads."""

    recording: Recording | None = None
    memory: MemoryRecording | None = None


active = _Active()


@contextlib.contextmanager
def span(name: str, kind: str, **details: Any) -> Iterator[None]:
    """Record how long a block takes, if a trace is being taken when it ends."""
    start = time.perf_counter_ns()
    try:
        yield
    finally:
        if active.recording is not None:
            active.recording.add(name, kind, start, details)
