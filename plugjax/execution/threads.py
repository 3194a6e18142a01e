"""Running a part of a computation in another thread, under the settings of this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from plugjax.core.config import config, this_thread
from plugjax.core.primitive import state


def settings_of_this_thread() -> Callable[[], Any]:
    """The configuration and the named axes in force: what it gives is a context manager that puts them in force elsewhere."""
    overrides, axes = dict(this_thread.view.overrides), state.axes

    @contextmanager
    def same() -> Iterator[None]:
        with ExitStack() as stack:
            for name, value in overrides.items():
                stack.enter_context(config.override(name, value))
            previous, state.axes = state.axes, axes
            try:
                yield
            finally:
                state.axes = previous

    return same
