"""Spans that a program names itself."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from plugjax.profiler.recording import active

_R = TypeVar("_R")


class TraceAnnotation:
    """A span of a trace with a name: a context manager.

    Args:
        name: the name.
        **kwargs: details of the event.

    Example:
        >>> import plugjax
        >>> with plugjax.profiler.TraceAnnotation("load", file=3):
        ...     total = sum(range(10))
        >>> total
        45
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._name = name
        self._details = kwargs

    def __enter__(self) -> TraceAnnotation:
        self._start = time.perf_counter_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if active.recording is not None:
            active.recording.add(self._name, "annotation", self._start, self._details)

    def set_metadata(self, **kwargs: Any) -> None:
        """More details of the event."""
        self._details = {**self._details, **kwargs}


class StepTraceAnnotation(TraceAnnotation):
    """A step of a loop, such as of training; ``step_num`` is its number.

    Example:
        >>> import plugjax
        >>> for i in range(2):
        ...     with plugjax.profiler.StepTraceAnnotation("train", step_num=i):
        ...         pass
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(
    func: Callable[..., _R], name: str | None = None, **decorator_kwargs: Any
) -> Callable[..., _R]:
    """The function with a span around each of its calls; also a decorator.

    Args:
        func: the function.
        name: the name of the span; the function's by default.
        **decorator_kwargs: details of the events.

    Example:
        >>> import plugjax
        >>> @plugjax.profiler.annotate_function
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    chosen = str(name or getattr(func, "__qualname__", type(func).__name__))

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> _R:
        with TraceAnnotation(chosen, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated
