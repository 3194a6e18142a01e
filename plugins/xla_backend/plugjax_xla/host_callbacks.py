"""Python functions that compiled code calls back.

XLA copies what a callback returns with ``memcpy`` and trusts the declared shapes, and it reports a Python exception as
text only. `HostCallback` checks every result before C++ reads it, and keeps each exception so that the caller of the
executable gets the original object.

An exception travels by ticket. The callback stores it and raises a relay error whose text carries the ticket number;
XLA puts that text into its own error, in any thread or buffer; `raise_original` reads the number back. So errors of
concurrent executions are never confused.
"""

import itertools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

HostArray = np.ndarray[Any, Any]
ArraySpec = tuple[tuple[int, ...], np.dtype[Any]]

# An exception keeps the frames of its traceback alive, so only a few are kept.
_KEPT_EXCEPTIONS = 32

_TICKET = re.compile(r"plugjax-host-callback-(\d+)")


class HostCallbackError(RuntimeError):
    """Carries the ticket of an exception through the C++ runtime; users see the original instead."""


class _Exceptions:
    """The latest exceptions of host callbacks, by ticket."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._tickets = itertools.count()
        self._by_ticket: OrderedDict[int, BaseException] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, exception: BaseException) -> int:
        with self._lock:
            ticket = next(self._tickets)
            self._by_ticket[ticket] = exception
            if len(self._by_ticket) > self._capacity:
                self._by_ticket.popitem(last=False)
        return ticket

    def find(self, ticket: int) -> BaseException | None:
        with self._lock:
            return self._by_ticket.get(ticket)


_exceptions = _Exceptions(_KEPT_EXCEPTIONS)


class HostCallback:
    """A Python function with declared results, safe for the C++ runtime.

    The function receives read-only NumPy arrays that it may keep. It may return a single array only wrapped in a
    sequence; results must match ``out_specs`` exactly, nothing is converted.

    Args:
        function: takes NumPy arrays, returns a sequence of NumPy arrays (``None`` means none).
        out_specs: shape and dtype of every result, in order; empty for a pure effect.
        name: what error messages call the function; its qualified name by default.
    """

    __slots__ = ("_out_specs", "function", "name")

    def __init__(
        self,
        function: Callable[..., Sequence[HostArray] | None],
        out_specs: Sequence[tuple[Sequence[int], Any]],
        *,
        name: str | None = None,
    ) -> None:
        self.function = function
        self.name = name or getattr(function, "__qualname__", repr(function))
        self._out_specs: tuple[ArraySpec, ...] = tuple(
            (tuple(shape), np.dtype(dtype)) for shape, dtype in out_specs
        )

    @property
    def out_specs(self) -> tuple[ArraySpec, ...]:
        """Shape and dtype of every result."""
        return self._out_specs

    def __call__(self, *args: HostArray) -> tuple[HostArray, ...]:
        """Called by the runtime, from any thread."""
        try:
            return self._checked(self.function(*map(_kept, args)))
        except BaseException as error:
            ticket = _exceptions.keep(error)
            raise HostCallbackError(
                f"{self.name} raised {type(error).__name__}: {error} "
                f"[plugjax-host-callback-{ticket}]"
            ) from error

    def _checked(self, results: Sequence[HostArray] | None) -> tuple[HostArray, ...]:
        results = () if results is None else results
        # A bare array also has a length, and would be split along its first axis.
        if isinstance(results, np.ndarray | np.generic) or not hasattr(results, "__len__"):
            raise TypeError(
                f"host callback {self.name}: got {type(results).__name__}, needs a sequence of "
                f"{len(self._out_specs)} arrays. Return a tuple."
            )
        if len(results) != len(self._out_specs):
            raise TypeError(
                f"host callback {self.name}: got {len(results)} results, "
                f"needs {len(self._out_specs)}."
            )
        return tuple(
            self._checked_one(position, result, spec)
            for position, (result, spec) in enumerate(zip(results, self._out_specs, strict=True))
        )

    def _checked_one(self, position: int, result: Any, spec: ArraySpec) -> HostArray:
        # order="C", because ascontiguousarray turns rank 0 into rank 1.
        array = np.asarray(result, order="C")
        if (array.shape, array.dtype) != spec:
            raise TypeError(
                f"host callback {self.name}: result {position} is {_show(array.shape, array.dtype)}"
                f", needs {_show(*spec)}."
            )
        return array


def raise_original(error: BaseException) -> NoReturn:
    """Raise the exception of a host callback, or ``error`` if it has another origin.

    The original gets ``error`` as its cause, unless it has one.
    """
    original = _original(error)
    if original is None:
        raise error
    if original.__cause__ is None:
        raise original from error
    raise original


def _original(error: BaseException) -> BaseException | None:
    ticket = _TICKET.search(str(error))
    return _exceptions.find(int(ticket.group(1))) if ticket else None


def _kept(argument: HostArray) -> HostArray:
    """An array that outlives the call: the runtime may pass views of its own memory."""
    if isinstance(argument, np.ndarray) and not argument.flags.owndata:
        argument = argument.copy()
        argument.flags.writeable = False
    return argument


def _show(shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"
