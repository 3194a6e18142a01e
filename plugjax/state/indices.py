"""Indices of references: a static part, which is a parameter of equations, and integers that are operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.core import Shape
from plugjax.numpy.index_plan import entries, slice_bounds
from plugjax.state.slices import Slice

# An int, None, a bool, (start, size, step) of a slice, or what follows for an operand.
StaticIndex: TypeAlias = tuple[Any, ...]


class _Operand:
    """Stands for an integer array."""

    def __repr__(self) -> str:
        return "_"


class _Window:
    """Stands for the start of a slice of static size."""

    def __init__(self, size: int, stride: int) -> None:
        self.size = size
        self.stride = stride

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Window) and (self.size, self.stride) == (other.size, other.stride)

    def __hash__(self) -> int:
        return hash((self.size, self.stride))


OPERAND = _Operand()


def split(shape: Shape, index: Any) -> tuple[StaticIndex, list[Any]]:
    """The static part of an index, and its operands.

    Raises:
        IndexError: more entries than axes; a slice with a traced bound.
        ValueError: an integer that is out of bounds.
        TypeError: an entry that is no index.
        NonConcreteBooleanIndexError: a traced mask.
    """
    if index is Ellipsis or (type(index) is tuple and not index):
        return (), []
    windows = _windows(index)
    row = entries(shape, windows[0] if windows else index)
    found: list[Any] = []
    operands: list[Any] = []
    axis = 0
    given = iter(windows[1] if windows else ())
    for entry in row:
        if entry is None or type(entry) is bool:
            found.append(entry)
            continue
        size = shape[axis]
        if type(entry) is int:
            if not -size <= entry < size:
                raise ValueError(
                    f"Out of bound indexer: index {entry} for axis {axis} of size {size}."
                )
            found.append(entry % size)
        elif type(entry) is slice and entry.step == _MARK:
            window = next(given)
            operands.append(jnp.asarray(window.start))
            found.append(_Window(window.size, window.stride))
        elif type(entry) is slice:
            found.append(slice_bounds(entry, size))
        else:
            found.append(OPERAND)
            operands.append(entry)
        axis += 1
    while found and found[-1] == (0, shape[axis - 1], 1):
        found.pop()
        axis -= 1
    return tuple(found), operands


# The step of a slice that stands for a window while an index is read.
_MARK = 1 << 62


def _windows(index: Any) -> tuple[tuple[Any, ...], list[Slice]] | None:
    """An index with marks in place of its windows, and those; ``None`` if it has none."""
    given = index if type(index) is tuple else (index,)
    found = [entry for entry in given if type(entry) is Slice]
    if not found:
        return None
    return tuple(slice(None, None, _MARK) if type(e) is Slice else e for e in given), found


def joined(index: StaticIndex, operands: Sequence[Any]) -> tuple[Any, ...]:
    """The index that a static part and operands stand for; windows are whole slices."""
    given = iter(operands)
    found: list[Any] = []
    for entry in index:
        if entry is OPERAND:
            found.append(next(given))
        elif type(entry) is _Window:
            next(given)
            found.append(slice(None))
        elif type(entry) is tuple:
            found.append(_as_slice(*entry))
        else:
            found.append(entry)
    return tuple(found)


def _as_slice(start: int, size: int, step: int) -> slice:
    stop: int | None = start + size * step
    return slice(start, None if step < 0 and stop is not None and stop < 0 else stop, step)


def _placed_windows(index: StaticIndex, operands: Sequence[Any]) -> list[tuple[int, Any, _Window]]:
    """Axis, start and size of each window."""
    given = iter(operands)
    found = []
    axis = 0
    for entry in index:
        if entry is None or type(entry) is bool:
            continue
        if entry is OPERAND:
            next(given)
        elif type(entry) is _Window:
            found.append((axis, next(given), entry))
        axis += 1
    return found


def _cut(value: Any, windows: Sequence[tuple[int, Any, _Window]]) -> Any:
    for axis, start, window in windows:
        extent = (window.size - 1) * window.stride + 1 if window.size else 0
        value = lax.dynamic_slice_in_dim(value, start, extent, axis)
        if window.stride > 1:
            value = lax.slice_in_dim(value, 0, None, window.stride, axis)
    return value


def read(value: Any, index: StaticIndex, operands: Sequence[Any]) -> Any:
    """The part of an array."""
    if not index:
        return value
    return jnp.asarray(_cut(value, _placed_windows(index, operands)))[joined(index, operands)]


def written(value: Any, index: StaticIndex, operands: Sequence[Any], new: Any, *, add: bool) -> Any:
    """The array with a part replaced, or with something added to it."""
    if not index:
        return lax.add(value, new) if add else new
    windows = _placed_windows(index, operands)
    if not windows:
        part = jnp.asarray(value).at[joined(index, operands)]
        return part.add(new) if add else part.set(new)
    cut = jnp.asarray(_cut(value, windows))
    part = cut.at[joined(index, operands)]
    return _pasted(value, windows, part.add(new) if add else part.set(new))


def _pasted(value: Any, windows: Sequence[tuple[int, Any, _Window]], part: Any) -> Any:
    """The array with its window replaced."""
    (axis, start, window), rest = windows[0], windows[1:]
    if rest:
        part = _pasted(_cut(value, windows[:1]), rest, part)
    if window.stride == 1:
        return lax.dynamic_update_slice_in_dim(value, part, start, axis)
    extent = (window.size - 1) * window.stride + 1
    whole = lax.dynamic_slice_in_dim(value, start, extent, axis)
    places = (slice(None),) * axis + (slice(0, None, window.stride),)
    return lax.dynamic_update_slice_in_dim(
        value, jnp.asarray(whole).at[places].set(part), start, axis
    )


def shown(index: StaticIndex, names: Sequence[str]) -> str:
    """An index as jaxprs print it."""
    given = iter(names)
    found = []
    for entry in index:
        if entry is OPERAND:
            found.append(next(given))
        elif type(entry) is _Window:
            start = next(given)
            step = f":{entry.stride}" if entry.stride > 1 else ""
            found.append(f"{start}:{start}+{entry.size}{step}")
        elif type(entry) is tuple:
            start, size, step = entry
            found.append(f"{start or ''}:{start + size * step}{'' if step == 1 else f':{step}'}")
        else:
            found.append(str(entry))
    return ",".join(found) or "..."


def plain(index: StaticIndex, operands: Sequence[Any]) -> Any:
    """The index as NumPy takes it, or ``None`` if a value of it is traced or it has windows."""
    if any(type(entry) is _Window for entry in index):
        return None
    if not all(isinstance(x, (np.ndarray, np.integer)) for x in operands):
        return None
    return joined(index, operands)
