"""The end of a trace: what outlives it is shown to plugins while an option asks for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from plugjax.core import registry
from plugjax.core.primitive import state

P = ParamSpec("P")
R = TypeVar("R")


def ends_trace(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of functions that make a trace and finish it: plugins see the trace when they return.

    Raises:
        Exception: raised by a plugin in the hook ``plugjax_traces_ended``.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result = function(*args, **kwargs)
        except BaseException:
            # The traceback holds the tracers: they have not leaked.
            state.ended.clear()
            raise
        if state.ended:
            ended, state.ended = state.ended, []
            registry.active().hook.plugjax_traces_ended(traces=ended)
        return result

    return call
