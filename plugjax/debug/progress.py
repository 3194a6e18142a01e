"""A line that says what long work is going on: in a terminal or in a notebook, and gone when the work ends.

Where there is neither, nothing is shown. Of work within work, what began first is shown.
"""

from __future__ import annotations

import html
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from plugjax.extend.core import config

# Seconds after which work that no command was asked for is long.
LONG = 1.0


class _Line(Protocol):
    def end(self) -> None: ...


class _InTerminal:
    """A spinner with a text on standard error."""

    def __init__(self, text: str) -> None:
        # Loaded late: most processes show nothing.
        console = importlib.import_module("rich.console").Console(stderr=True)
        self._status: Any = console.status(importlib.import_module("rich.text").Text(text))
        self._status.start()

    def end(self) -> None:
        self._status.stop()


class _InNotebook:
    """A line of HTML in the output of a cell."""

    def __init__(self, text: str) -> None:
        self._display: Any = importlib.import_module("IPython.display")
        shown = self._display.HTML(f"<em>{html.escape(text)}</em>")
        self._handle: Any = self._display.display(shown, display_id=True)

    def end(self) -> None:
        self._handle.update(self._display.HTML(""))


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        # The work that is shown, or that will be if it takes long.
        self.owner: object | None = None


_state = _State()


def is_seen() -> bool:
    """Whether there is a terminal or a notebook to show progress in."""
    return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _in_notebook() -> bool:
    kernel = sys.modules.get("IPython")
    shell = kernel.get_ipython() if kernel is not None and "ipykernel" in sys.modules else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def working(on: str, after: float = 0.0) -> Iterator[None]:
    """Show what is being done until the block ends, if there is a terminal or a notebook.

    Args:
        on: what, as ``compiling predict``.
        after: seconds from which it is shown; what ends before that shows nothing.
    """
    if not is_seen():
        yield
        return
    work = _Work(f"{on} ...")
    with _state.lock:
        first = _state.owner is None
        if first:
            _state.owner = work
    if not first:
        yield
        return
    timer = threading.Timer(after, work.show)
    timer.daemon = True
    try:
        if after > 0:
            timer.start()
        else:
            work.show()
        yield
    finally:
        timer.cancel()
        work.end()
        _state.owner = None


def if_long(on: str) -> AbstractContextManager[None]:
    """Show what a function of a program does if it takes long, unless ``jax_progress`` is off or another thread waits for it.

    Args:
        on: what, as ``exporting model.vmfb``.
    """
    waited_for = threading.current_thread() is threading.main_thread()
    return working(on, LONG) if waited_for and config.read("progress") else nullcontext()


class _Work:
    """One line; it may be asked to appear when the work has just ended."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lock = threading.Lock()
        self._line: _Line | None = None
        self._ended = False

    def show(self) -> None:
        with self._lock:
            if not self._ended:
                self._line = _InNotebook(self._text) if _in_notebook() else _InTerminal(self._text)

    def end(self) -> None:
        with self._lock:
            self._ended = True
            if self._line is not None:
                self._line.end()


__all__ = ["LONG", "if_long", "is_seen", "working"]
