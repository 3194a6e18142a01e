"""Callbacks of programs that run twice: the first run records their results, the second replays them without calls."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from plugjax.extend.core import ClosedJaxpr, JaxprEqn
from plugjax.guard.rewriting import rewritten
from plugjax.lax.callback import FlatCallback, Opaque, io_callback_p, pure_callback_p


class ReplayError(Exception):
    """The second run calls more often than the first."""


class Recorder:
    """Calls a function, and records its results on request."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._log: list[Any] | None = None
        self._replayed: Iterator[Any] | None = None
        self._lock = threading.Lock()
        self.__qualname__ = getattr(function, "__qualname__", repr(function))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, or replay a recorded result."""
        with self._lock:
            if self._replayed is not None:
                for value in self._replayed:
                    return value
                raise ReplayError(self.__qualname__)
        found = self._function(*args, **kwargs)
        if self._log is not None:
            self._log.append(found)
        return found

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the function's results."""
        self._log = []
        try:
            yield
        finally:
            self._kept, self._log = self._log, None

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Replay the recorded results from the beginning."""
        self._replayed = iter(self._kept)
        try:
            yield
        finally:
            self._replayed = None

    _kept: Sequence[Any] = ()


def recorded(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program with recorders around the callbacks that return results."""

    def wrap(eqn: JaxprEqn) -> list[JaxprEqn]:
        flat = eqn.params.get("callback")
        if eqn.primitive not in (pure_callback_p, io_callback_p) or not isinstance(
            flat, FlatCallback
        ):
            return [eqn]
        if isinstance(flat.function.value, Recorder):
            return [eqn]
        function = Opaque(Recorder(flat.function.value))
        callback = dataclasses.replace(flat, function=function)
        return [eqn.replace(params={**eqn.params, "callback": callback})]

    return rewritten(jaxpr, wrap)


def recorders(jaxpr: ClosedJaxpr) -> list[Recorder]:
    """The recorders in a program."""
    found: dict[int, Recorder] = {}

    def look(eqn: JaxprEqn) -> list[JaxprEqn]:
        flat = eqn.params.get("callback")
        if isinstance(flat, FlatCallback) and isinstance(flat.function.value, Recorder):
            found[id(flat.function.value)] = flat.function.value
        return [eqn]

    rewritten(jaxpr, look)
    return list(found.values())


def without_side_effects(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program without equations that have no results: printing, checks, calls for effects alone."""
    return rewritten(jaxpr, lambda eqn: [eqn] if eqn.outvars else [])
