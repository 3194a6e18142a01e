"""Tracebacks that show the user's program: frames of the framework are taken out.

``config.update("jax_traceback_filtering", "off")`` keeps them, for those who work on plugjax itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from plugjax.core.config import config
from plugjax.core.source_info import is_internal

P = ParamSpec("P")
R = TypeVar("R")


def filtered(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the framework's frames; the whole of it if no frame is the user's."""
    frames = []
    current = traceback
    while current is not None:
        if not is_internal(current.tb_frame.f_code):
            frames.append(current)
        current = current.tb_next
    result: TracebackType | None = None
    for frame in reversed(frames):
        result = TracebackType(result, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return result if result is not None else traceback


def api_boundary(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of functions that users call and that call users' functions: errors pass through it filtered."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if config.read("traceback_filtering") == "off":
                raise
            kept: Any = filtered(error.__traceback__)
            raise error.with_traceback(kept) from error.__cause__

    return call
