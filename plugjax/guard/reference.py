"""A program on NumPy, within a time limit."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.backend import get_backend
from plugjax.extend.core import ClosedJaxpr


class TooLongError(Exception):
    """The time limit is exceeded."""


def computed(
    jaxpr: ClosedJaxpr, values: Sequence[np.ndarray[Any, Any]], seconds: float
) -> list[np.ndarray[Any, Any]]:
    """Run a program on NumPy.

    Raises:
        TooLongError: it takes longer than ``seconds``. The kernel that runs at that time is not interrupted; the caller
            returns without it.
        Exception: the error that a kernel raised.
    """
    backend = get_backend("numpy")
    result: list[Any] = []

    def run() -> None:
        try:
            program = backend.compile(jaxpr, backend.devices()[0], {"name": "reference"})
            result.append([np.asarray(y) for y in program.run(list(values))])
        except TooLongError:
            pass
        except BaseException as error:  # Handed to the waiting thread.
            result.append(error)

    # A thread can be stopped only between two kernels.
    thread = threading.Thread(target=run, daemon=True, name="plugjax reference")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        ident = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(TooLongError))
    if not result:
        raise TooLongError
    if isinstance(result[0], BaseException):
        raise result[0]
    found: list[np.ndarray[Any, Any]] = result[0]
    return found
