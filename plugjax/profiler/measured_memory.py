"""Memory while a program runs: the arrays that exist after each call, and what the process allocated within it.

The bytes of arrays are those that they hold on their devices. Allocations are those that Python's ``tracemalloc`` sees: NumPy's arrays, temporaries of
kernels among them, and Python's objects; what XLA and IREE allocate inside is not seen.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.core.array import Array
from plugjax.core.source_info import user_source


@dataclass(frozen=True)
class HeldArray:
    """An array that holds memory.

    Attributes:
        kind: its type.
        size: bytes.
        made_by: the program or primitive whose result it is, or when it was there first.
        source: the user's line that called it; empty if it is not known.
        name: of the variable in a program; empty for arrays of a run and for memory within an equation.
    """

    kind: str
    size: int
    made_by: str
    source: str
    name: str = ""


@dataclass(frozen=True)
class Measured:
    """A call, measured.

    Attributes:
        name: of the program or primitive.
        source: the user's line.
        seconds: that it took.
        arrays: bytes of the arrays that exist when it ends.
        before: bytes allocated when it began.
        most: the most bytes allocated within it.
        after: bytes allocated when it ended.
    """

    name: str
    source: str
    seconds: float
    arrays: int
    before: int
    most: int
    after: int

    @property
    def temporary(self) -> int:
        """Bytes that were allocated within the call and freed before it ended."""
        return self.most - max(self.before, self.after)


class MemoryRecording:
    """Measures calls from its making on.

    Attributes:
        calls: in the order in which they ended.
        holders: the arrays that existed when their bytes were most.
        first: bytes of the arrays that existed at the start.
    """

    def __init__(self) -> None:
        self.calls: list[Measured] = []
        self._started_tracing = not tracemalloc.is_tracing()
        if self._started_tracing:
            tracemalloc.start()
        self._live: dict[int, tuple[weakref.ref[Array], HeldArray]] = {}
        for x in gc.get_objects():
            if type(x) is Array and not x.is_deleted():
                self._hold(x, "before the recording", "")
        # The most that was allocated within each call that is open; a call may be within another.
        self._open: list[int] = []
        self.first = self._bytes()
        self._most = self.first
        self.holders = self._held()

    def close(self) -> None:
        """Measure no more."""
        if self._started_tracing:
            tracemalloc.stop()

    def begin(self) -> tuple[float, int]:
        """A call begins; the answer is what :meth:`end` needs."""
        allocated, most = tracemalloc.get_traced_memory()
        if self._open:
            self._open[-1] = max(self._open[-1], most)
        self._open.append(allocated)
        tracemalloc.reset_peak()
        return time.perf_counter(), allocated

    def end(self, name: str, begun: tuple[float, int], results: Sequence[Any]) -> None:
        """A call has ended, and its results are there."""
        start, before = begun
        seconds = time.perf_counter() - start
        after, most = tracemalloc.get_traced_memory()
        most = max(most, self._open.pop())
        if self._open:
            self._open[-1] = max(self._open[-1], most)
        source = str(user_source() or "")
        for x in results:
            if type(x) is Array:
                self._hold(x, name, source)
        arrays = self._bytes()
        self.calls.append(Measured(name, source, seconds, arrays, before, most, after))
        if arrays > self._most:
            self._most, self.holders = arrays, self._held()

    def _hold(self, x: Array, name: str, source: str) -> None:
        key = id(x)
        forget = weakref.ref(x, lambda _: self._live.pop(key, None))
        size = 0 if x.is_deleted() else x.on_device_size_in_bytes()
        self._live[key] = forget, HeldArray(x.aval.str_short(), size, name, source)

    def _held(self) -> list[HeldArray]:
        found = [held for ref, held in self._live.values() if _exists(ref)]
        return sorted(found, key=lambda held: held.size, reverse=True)

    def _bytes(self) -> int:
        return sum(held.size for ref, held in self._live.values() if _exists(ref))


def _exists(ref: weakref.ref[Array]) -> bool:
    x = ref()
    return x is not None and not x.is_deleted()
