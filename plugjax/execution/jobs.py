"""Functions in threads of their own, which can be given up."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class _GivenUpError(BaseException):
    """Ends the function of a job between two steps of Python."""


class Job(Generic[_T]):
    """A function that runs in a thread of its own, from now on.

    Args:
        function: what runs.
        name: of the thread.
        ended: called in that thread when the function has ended, but not if it was given up.

    Example:
        >>> Job(lambda: 6 * 7, "an answer").result()
        42
    """

    def __init__(
        self, function: Callable[[], _T], name: str, ended: Callable[[], object] = bool
    ) -> None:
        self._function, self._ended = function, ended
        self._found: list[_T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"plugjax {name}")
        self._thread.start()

    def _run(self) -> None:
        try:
            try:
                self._found.append(self._function())
            except _GivenUpError:
                return
            except BaseException as error:  # For the caller of `result`.
                self._error = error
            self._ended()
        except _GivenUpError:
            pass  # It had ended by then.

    @property
    def has_ended(self) -> bool:
        """Whether there is a result or an exception."""
        return bool(self._found) or self._error is not None

    @property
    def is_running(self) -> bool:
        """Whether its thread runs; that of a job which was begun before a fork does not in the child."""
        return self._thread.is_alive()

    def result(self, seconds: float | None = None) -> _T:
        """The function's result, or its exception raised.

        Raises:
            TimeoutError: there is none after ``seconds``.
        """
        self._thread.join(seconds)
        if self._error is not None:
            raise self._error
        if not self._found:
            raise TimeoutError(f"{self._thread.name}: no result after {seconds} s.")
        return self._found[0]

    def end(self) -> None:
        """Wait for the end of the function, and drop its exception, whose frames hold what it worked on."""
        self._thread.join()
        self._error = None

    def give_up(self) -> None:
        """End the function soon. A kernel that runs now is not interrupted."""
        if self._thread.is_alive():
            ident = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_GivenUpError))
