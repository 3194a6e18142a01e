"""Classes whose objects live on the host of the devices of their methods' arguments.

Invariant: a wrapper has at most one object in a process, made by the first method that is called, in any thread.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import update_wrapper, wraps
from typing import Any

from plugjax.experimental.colocated_python.functions import Specialization, colocated

# The wrapper's own, as the object is made late.
_OWN = frozenset({"__init__", "__del__", "__reduce__", "__reduce_ex__"})


class _LateObject:
    """An object that is made when it is first asked for.

    Args:
        make: makes it. It is called once; what it raises is raised whenever the object is asked for.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._found: Future[Any] = Future()

    def get(self) -> Any:
        with self._lock:
            if not self._found.done():
                try:
                    self._found.set_result(self._make())
                except Exception as error:
                    self._found.set_exception(error)
        return self._found.result()

    def method(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A method of the object, which makes it if need be."""

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(self.get(), name)(*args, **kwargs)

        return call


def colocated_class(cls: type) -> type:
    """A class whose methods run on the host of their arguments' devices; see ``colocated_python_class``."""
    functions = {
        name: found
        for name in dir(cls)
        if name not in _OWN and inspect.isfunction(found := getattr(cls, name))
    }

    class Wrapper:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            held = _LateObject(lambda: cls(*args, **kwargs))
            for name, function in functions.items():
                setattr(self, name, colocated(held.method(name, function), Specialization()))

    update_wrapper(Wrapper, cls, updated=())
    return Wrapper
