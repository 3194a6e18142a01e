"""Pulls of arrays that are given up at a point in time. One thread looks after all of them, while there are any.

It must have ended before the interpreter does: a thread that is then within jaxlib aborts the process.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from plugjax_xla.jaxlib_shim import abandon
from plugjax_xla.pjrt import Buffer, is_deleted, is_ready

_SECONDS_BETWEEN_LOOKS = 0.02


class _Pull(NamedTuple):
    connection: Any
    buffers: Sequence[Buffer]
    until: float

    def is_over(self) -> bool:
        """Whether the values have come, or were given up now."""
        if all(is_deleted(x) or is_ready(x) for x in self.buffers):
            return True
        late = time.time() >= self.until
        if late:
            abandon(self.connection)
        return late


_lock = threading.Lock()
_pulls: list[_Pull] = []
_watcher: threading.Thread | None = None
_ending = threading.Event()


def give_up_at(connection: Any, buffers: Sequence[Buffer], until: float) -> None:
    """Make buffers errors that hold no values at a time.

    Args:
        connection: what they are pulled by, which nothing else uses.
        buffers: the buffers.
        until: the time, in seconds since the epoch.
    """
    global _watcher
    with _lock:
        _pulls.append(_Pull(connection, buffers, until))
        if _watcher is None:
            _watcher = threading.Thread(target=_watch, daemon=True)
            _watcher.start()


def _watch() -> None:
    global _watcher
    while not _ending.wait(_SECONDS_BETWEEN_LOOKS):
        with _lock:
            _pulls[:] = [each for each in _pulls if not each.is_over()]
            if not _pulls:
                _watcher = None
                return


@atexit.register
def _end() -> None:
    _ending.set()
    if (watcher := _watcher) is not None:
        watcher.join()


def _after_fork() -> None:
    global _lock, _watcher
    _lock, _watcher = threading.Lock(), None
    # The connections are the parent's.
    _pulls.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
