"""Attributes that packages above give to the core's objects: names of JAX that the core itself does without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _nothing(owner: Any, name: str) -> Any:
    raise AttributeError(f"{owner!r} has no attribute {name!r}")


# (object, name) -> its attribute; AttributeError if there is none. ``plugjax`` sets it.
find: Callable[[Any, str], Any] = _nothing
# What an error that leaves a public function does to its traceback (`transforms/tracebacks.py`).
shorten_traceback: Callable[[], object] = object


class Extensible:
    """What has attributes of packages above. It makes reading any attribute slower: what is read often has properties instead."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return (_nothing if name.startswith("__") else find)(self, name)
