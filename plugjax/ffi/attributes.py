"""Attributes of a foreign call, as data of an equation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class ByValue:
    """A NumPy array or a dict as a part of a parameter, compared by its contents."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
        self.value = value
        self._key = _key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByValue) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, dict):
        return tuple((name, _key(v)) for name, v in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    return type(value), value


Attributes = tuple[tuple[str, Any], ...]


def hashable(attributes: Mapping[str, Any]) -> Attributes:
    """The attributes as a parameter of an equation, in the order of their names.

    Raises:
        TypeError: a value is neither hashable nor an array or a dict.
    """
    found = []
    for name, value in sorted(attributes.items()):
        wrapped = ByValue(value) if isinstance(value, (np.ndarray, dict)) else value
        try:
            hash(wrapped)
        except TypeError as error:
            raise TypeError(
                f"ffi_call: Non-hashable keyword argument to ffi_call {name}: {value!r}. Give a number, a string, a tuple, a NumPy "
                "array or a dict of these."
            ) from error
        found.append((name, wrapped))
    return tuple(found)


def plain(attributes: Attributes) -> dict[str, Any]:
    """The attributes as they were given."""
    return {name: v.value if isinstance(v, ByValue) else v for name, v in attributes}
