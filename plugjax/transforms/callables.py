"""What functions of functions are given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def check_callable(who: str, fun: object) -> None:
    """Refuse what cannot be called where a function is needed.

    Raises:
        TypeError: ``fun`` is not callable.
    """
    if not callable(fun):
        raise TypeError(f"{who}: Expected a callable value, got {fun!r}")


def resemble(wrapper: Any, fun: Callable[..., Any]) -> None:
    """Give an object the name, the documentation and the attributes of a function, but for attributes that its class has."""
    functools.update_wrapper(wrapper, fun)
    own, kind = wrapper.__dict__, wrapper.__class__
    for name in _own_names(kind) & own.keys():
        del own[name]


@functools.cache
def _own_names(kind: type) -> frozenset[str]:
    """The names that a class defines, but for Python's own."""
    return frozenset(name for name in dir(kind) if not name.startswith("__"))
