"""Parts of references: ``ref.at[1:].at[0]`` is read and written as a reference is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Array
from plugjax.state.aval import METHODS


class View:
    """A part of a reference, named by indices one after the other.

    Reading and writing go to the reference: a view holds no values. It is what JAX calls a transformed reference.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> ref = plugjax.new_ref(jnp.arange(5))
        >>> ref.at[1:].at[0][...]
        Array(1, dtype=int32)
    """

    __slots__ = ("_indices", "_ref")

    def __init__(self, ref: Any, indices: Sequence[Any]) -> None:
        self._ref = ref
        self._indices = tuple(indices)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the part."""
        return self.get().shape

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self._ref.aval.dtype

    @property
    def at(self) -> Any:
        """Parts of the part by index."""
        return _Parts(self)

    def get(self, idx: Any = ()) -> Array:
        """The values of the part, or of a part of it."""
        found: Array = _chain(self._ref, self._all(idx))[-1]
        return found

    def set(self, value: Any, idx: Any = ()) -> None:
        """Write the part, or a part of it."""
        self.swap(value, idx)

    def swap(self, value: Any, idx: Any = ()) -> Array:
        """Write the part, or a part of it, and give what it was."""
        indices = self._all(idx)
        if len(indices) == 1:
            old: Array = METHODS["swap"](self._ref, value, indices[0])
            return old
        parts = _chain(self._ref, indices)
        METHODS["set"](self._ref, _put(parts, indices, value, add=False), indices[0])
        last: Array = parts[-1]
        return last

    def addupdate(self, x: Any, idx: Any = ()) -> None:
        """Add to the part, or to a part of it."""
        indices = self._all(idx)
        if len(indices) == 1:
            METHODS["addupdate"](self._ref, x, indices[0])
        else:
            parts = _chain(self._ref, indices)
            METHODS["set"](self._ref, _put(parts, indices, x, add=True), indices[0])

    def __getitem__(self, index: Any) -> Array:
        return self.get(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.set(value, index)

    def _all(self, idx: Any) -> tuple[Any, ...]:
        if idx is Ellipsis or (type(idx) is tuple and not idx):
            return self._indices
        return (*self._indices, idx)


class _Parts:
    """``ref.at`` and ``view.at``: parts by index."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __getitem__(self, index: Any) -> View:
        return View(self._view._ref, (*self._view._indices, index))


def _chain(ref: Any, indices: Sequence[Any]) -> list[Any]:
    """The values at the first index, at the second of those, and so on."""
    found = [METHODS["__getitem__"](ref, indices[0])]
    for index in indices[1:]:
        found.append(found[-1][index])
    return found


def _put(parts: Sequence[Any], indices: Sequence[Any], value: Any, *, add: bool) -> Any:
    """The values at the first index, with the innermost part replaced or added to."""
    last = parts[-2].at[indices[-1]]
    new = last.add(value) if add else last.set(value)
    for part, index in zip(reversed(parts[:-2]), reversed(indices[1:-1]), strict=True):
        new = part.at[index].set(new)
    return new
