"""The end of the interpreter, while daemon threads call functions.

Python does not wait for daemon threads: one that asks for the interpreter when that is gone is ended. If C++ called it, as optree and jaxlib do, the
process ends with an error. So threads are waited for until they are outside of plugjax and of the packages that say so.
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
_folders = [str(Path(__file__).parents[1])]
_callbacks: list[Callable[[], object]] = []


def before_threads_are_waited_for(callback: Callable[[], object]) -> None:
    """Call a function as the interpreter ends."""
    _callbacks.append(callback)


def wait_for_threads_in(folder: str) -> None:
    """As the interpreter ends, wait until no other thread runs a function of some files, and let none run after that.

    Args:
        folder: the files are below it.
    """
    _folders.append(folder)


def _is_inside(folders: tuple[str, ...]) -> bool:
    """Whether another thread than this one runs a function of files below folders."""
    for ident, top in sys._current_frames().items():
        frame = None if ident == threading.get_ident() else top
        while frame is not None:
            if frame.f_code.co_filename.startswith(folders):
                return True
            frame = frame.f_back
    return False


@atexit.register
def _end() -> None:
    for callback in _callbacks:
        callback()
    folders, until = tuple(_folders), time.monotonic() + _SECONDS
    while _is_inside(folders) and time.monotonic() < until:
        # A thread that calls functions all the time is outside of them for moments.
        sys.setswitchinterval(1e-5)
        time.sleep(1e-3)
    # Such a thread does not come back in before the end.
    sys.setswitchinterval(1.0)
