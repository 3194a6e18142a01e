"""The end of the interpreter, while daemon threads call functions.

Python does not wait for daemon threads: one that asks for the interpreter when that is gone is ended. If C++ called it, as optree and jaxlib do, the
process ends with an error. So threads are waited for while they call functions or operators; backends are called from there.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

# At most this long: a function that never returns does not keep the process.
_SECONDS = 60.0
_FOLDERS = tuple(str(Path(__file__).parents[1] / name) for name in ("core", "execution"))
_callbacks: list[Callable[[], object]] = []


def before_threads_are_waited_for(callback: Callable[[], object]) -> None:
    """Call a function as the interpreter ends."""
    _callbacks.append(callback)


def _is_inside() -> bool:
    """Whether another thread than this one calls a function or an operator."""
    for ident, top in sys._current_frames().items():
        frame = None if ident == threading.get_ident() else top
        while frame is not None:
            if frame.f_code.co_filename.startswith(_FOLDERS):
                return True
            frame = frame.f_back
    return False


@atexit.register
def _end() -> None:
    for callback in _callbacks:
        callback()
    until = time.monotonic() + _SECONDS
    while _is_inside() and time.monotonic() < until:
        # A thread that calls functions all the time is outside of them for moments.
        sys.setswitchinterval(1e-5)
        time.sleep(1e-3)
    # Such a thread should not come back in while the interpreter ends.
    sys.setswitchinterval(1.0)
