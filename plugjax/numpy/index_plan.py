"""NumPy's indexing rules as plans for one gather or scatter: ``x[1:, None, i]``.

An index is a row of entries, one for each axis that it consumes: integers, slices, integer arrays; ``None`` consumes no
axis. A list or tuple that is an entry of a tuple is an array. A :class:`Plan` gives the origin of the axes of the
result: a *window* is an axis of the operand, cut contiguously; a *batch* axis runs over index values, those of the
integer arrays or of a slice with a step.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, Shape, Tracer, select_n_p
from plugjax.extend.errors import NonConcreteBooleanIndexError
from plugjax.lax import axes
from plugjax.lax.families import size_value
from plugjax.numpy.creation import array
from plugjax.numpy.promotion import Operand, broadcast_to_shape, converted

__all__ = ["Entry", "Plan", "entries", "make_plan", "masks_as_arrays", "normalized", "slice_bounds"]

# Indices are int32; this one is beyond each axis.
_FAR = np.iinfo(np.int32).max

Entry = Any  # int, slice, None, bool, a NumPy array of integers, or a traced one.

_STATIC_SLICE = (
    "Slice entries must be static integers: a traced bound in {} leaves the size of the result open. "
    "lax.dynamic_slice and lax.dynamic_update_slice take a traced start and a static size."
)

_BARE_LIST = (
    "Using a non-tuple sequence for multidimensional indexing is not allowed. Make it an array with `jnp.array`, or use `x[list,]` for indices of the first axis, "
    "or `x[tuple(list)]` if each entry belongs to another axis."
)


def entries(shape: Shape, index: Any) -> list[Entry]:
    """The entries of an index: masks become integer arrays (those of rank 0 stay), the ellipsis becomes slices.

    Raises:
        IndexError: more entries than axes, a mask of another shape, or an entry that is not an array.
        NonConcreteBooleanIndexError: a traced mask.
        TypeError: an index that is a list, or an array of non-integers.
    """
    if isinstance(index, Sequence) and not isinstance(index, (tuple, str, bytes)):
        raise TypeError(_BARE_LIST)
    given = index if isinstance(index, tuple) else (index,)
    found: list[Entry] = []
    ellipsis: int | None = None
    consumed = 0
    for entry in given:
        if entry is Ellipsis:
            if ellipsis is not None:
                raise IndexError("indexing: more than one ellipsis (...) came.")
            ellipsis = len(found)
            continue
        for item in _entry(entry, shape, consumed, ellipsis is not None):
            found.append(item)
            consumed += item is not None and type(item) is not bool
    missing = len(shape) - consumed
    if missing < 0:
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, and {consumed} came."
        )
    position = len(found) if ellipsis is None else ellipsis
    found[position:position] = [slice(None)] * missing
    return found


def masks_as_arrays(row: Sequence[Entry]) -> tuple[list[Entry], tuple[int, ...]]:
    """Replace masks of rank 0 by index arrays with one element or none, over new axes of size 1.

    Also returns the axes of size 1 that the operand needs.
    """
    found: list[Entry] = []
    axes = []
    axis = 0
    for entry in row:
        if type(entry) is bool:
            axes.append(axis)
            entry = np.zeros(int(entry), np.int32)
        found.append(entry)
        axis += entry is not None
    return found, tuple(axes)


def _entry(entry: Any, shape: Shape, axis: int, after_ellipsis: bool) -> Sequence[Entry]:
    kind = type(entry)
    if kind is int or entry is None or kind is slice:
        return (entry,)
    if isinstance(entry, (bool, np.bool_)):
        return (bool(entry),)
    if isinstance(entry, (str, bytes)):
        raise TypeError(f"plugjax does not support string indexing, got {entry!r}.")
    if isinstance(entry, (list, tuple)):
        # An empty array has a floating dtype by default.
        entry = array(entry)
        entry = entry if entry.size else np.zeros(entry.shape, np.int32)
    if hasattr(entry, "__jax_array__"):
        entry = entry.__jax_array__()
    if type(entry) is Array and entry._placement.host_visible:
        entry = np.asarray(entry)
    if isinstance(entry, (np.integer, np.ndarray, Array)):
        dtype = entry.dtype
        if dtype.kind == "b":
            if isinstance(entry, Tracer):
                raise NonConcreteBooleanIndexError(entry)
            return _from_mask(np.asarray(entry), shape, None if after_ellipsis else axis)
        if not dtypes.is_integer(dtype):
            raise TypeError(
                f"indexing: index arrays hold integers or bools, got dtype {dtype.name}"
            )
        if not entry.shape and not isinstance(entry, Array):
            return (int(entry),)
        return (entry,)
    if hasattr(entry, "__index__"):
        return (operator.index(entry),)
    found = getattr(entry, "dtype", None)
    described = found if found is not None else type(entry)
    number = found is not None or isinstance(entry, (float, complex))
    refusal = TypeError if number or isinstance(entry, Sequence) else IndexError
    raise refusal(
        f"Indexer must have integer or boolean type, got {described} at position {axis}. Convert it."
    )


def _from_mask(mask: Any, shape: Shape, axis: int | None) -> Sequence[Entry]:
    if not mask.ndim:
        return (bool(mask),)
    expected = shape[axis : axis + mask.ndim] if axis is not None else mask.shape
    if mask.shape != expected:
        raise IndexError(
            f"indexing: the mask at axis {axis} has shape {mask.shape}, the axes that it selects from {expected}"
        )
    return tuple(np.nonzero(mask))


def slice_bounds(entry: slice, size: int) -> tuple[int, int, int]:
    """First element, number of elements and step of a slice.

    Raises:
        IndexError: a bound is traced.
    """
    try:
        start, stop, step = entry.indices(size)
    except TypeError:
        if any(isinstance(bound, Tracer) for bound in (entry.start, entry.stop, entry.step)):
            raise IndexError(_STATIC_SLICE.format(entry)) from None
        if not axes.has_symbols((size, entry.start, entry.stop)):
            raise
        return _symbolic_bounds(entry, size)
    return start, len(range(start, stop, step)), step


def _symbolic_bounds(entry: slice, size: int) -> tuple[int, int, int]:
    """The bounds of a slice if they, or the size of the axis, are expressions of variables."""
    step = 1 if entry.step is None else operator.index(entry.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)

    def bound(given: Any, default: int) -> int:
        if given is None:
            return default
        found = axes.index(given)
        if found < 0:
            return axes.larger(found + size, lowest)
        return axes.smaller(found, highest)

    start, stop = (
        bound(entry.start, 0 if step > 0 else highest),
        bound(entry.stop, highest if step > 0 else -1),
    )
    distance = stop - start if step > 0 else start - stop
    return start, axes.larger(0, (distance + abs(step) - 1) // abs(step)), step


def normalized(index: Any, size: int, wrap: bool = True) -> Any:
    """Index values as int32, negative ones counted from the end if ``wrap``."""
    if isinstance(index, np.ndarray):
        return (np.where(index < 0, index + size, index) if wrap else index).astype(np.int32)
    if index.dtype.kind == "u" or not wrap:
        return converted(index, dtypes.INT32)
    wide = converted(index, dtypes.INT32)
    shift = lax.add(wide, size_value(size, dtypes.INT32))
    return select_n_p.bind(lax.lt(wide, np.int32(0)), wide, shift)


@dataclass(frozen=True)
class Plan:
    """An index as a gather.

    Attributes:
        indices: index vectors ``[*batch, k]``.
        numbers: the meaning of the axes.
        slice_sizes: size of the window along each axis of the operand.
        shape: shape of the gather's result.
        new_axes: axes of size 1 to insert into that result.
        ordered: whether the index vectors are known to be sorted and unique.
    """

    indices: Operand
    numbers: lax.GatherDimensionNumbers
    slice_sizes: tuple[int, ...]
    shape: Shape
    new_axes: tuple[int, ...]
    ordered: bool


class _Start(NamedTuple):
    """Where the windows of a gather begin along one axis of the operand."""

    axis: int
    values: Any
    # Whose index values they are: the place of the batch axis, _SHARED for the axes of all arrays, or None for one place.
    batch_axis: int | None


_SHARED = -1


@dataclass
class _Layout:
    """A plan in the making: entries are added from left to right.

    Attributes:
        batch_shape: shape that the index arrays broadcast to.
        wrap: whether negative indices count from the end.
        sizes: of the result, new axes included.
        new_axes: positions in ``sizes``.
        windows: axes of the gather's result that are windows, new axes not counted.
        batch_sizes: of the index vectors.
        batch_home: where the axes of the index arrays begin among ``batch_sizes``.
        starts: what chooses elements, one for each axis that is not taken whole.
        slice_sizes: of the window along each axis of the operand.
        collapsed: axes of the operand that the result has not as windows.
    """

    batch_shape: Shape
    wrap: bool
    sizes: list[int] = field(default_factory=list)
    new_axes: list[int] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    batch_sizes: list[int] = field(default_factory=list)
    batch_home: int = 0
    starts: list[_Start] = field(default_factory=list)
    slice_sizes: list[int] = field(default_factory=list)
    collapsed: list[int] = field(default_factory=list)

    def add_batch(self) -> None:
        """The axes of the index arrays come here."""
        self.batch_home = len(self.batch_sizes)
        self.batch_sizes.extend(self.batch_shape)
        self.sizes.extend(self.batch_shape)

    def add_new_axis(self) -> None:
        self.new_axes.append(len(self.sizes))
        self.sizes.append(1)

    def add_slice(self, axis: int, size: int, entry: slice) -> None:
        """A slice is a window; with a step it is a vector of indices on a batch axis of its own."""
        start, count, step = slice_bounds(entry, size)
        if step == 1:
            self.windows.append(len(self.sizes) - len(self.new_axes))
            self.slice_sizes.append(count)
            if count != size:
                self.starts.append(_Start(axis, _places(start, None, 1), None))
        else:
            values = _places(start, count, step)
            self.starts.append(_Start(axis, values, len(self.batch_sizes)))
            self.batch_sizes.append(count)
            self.slice_sizes.append(1)
            self.collapsed.append(axis)
        self.sizes.append(count)

    def add_index(self, axis: int, size: int, entry: Any) -> None:
        """An integer, or an array of them."""
        if not size and (type(entry) is int or 0 not in self.batch_shape):
            raise IndexError(f"indexing: axis {axis} has size 0, so no index lies in it.")
        if type(entry) is int:
            place = entry + size if self.wrap and entry < 0 else min(entry, _FAR)
            values: Any = _places(place, None, 1)
        else:
            values = normalized(entry, size, self.wrap)
        self.starts.append(_Start(axis, values, _SHARED))
        self.slice_sizes.append(1)
        self.collapsed.append(axis)

    def plan(self, ordered: bool) -> Plan:
        """The plan, once all entries are there."""
        return Plan(
            _index_vectors(
                self.starts, tuple(self.batch_sizes), self.batch_home, len(self.batch_shape)
            ),
            lax.GatherDimensionNumbers(
                offset_dims=tuple(self.windows),
                collapsed_slice_dims=tuple(self.collapsed),
                start_index_map=tuple(start.axis for start in self.starts),
            ),
            tuple(self.slice_sizes),
            tuple(n for i, n in enumerate(self.sizes) if i not in self.new_axes),
            tuple(self.new_axes),
            ordered,
        )


def _places(start: int, count: int | None, step: int) -> Any:
    """Positions as index values: ``count`` of them in steps, or one."""
    if axes.has_symbols((start, count)):
        first = size_value(start, dtypes.INT32)
        if count is None:
            return first
        return lax.add(lax.mul(lax.iota(np.int32, count), np.int32(step)), first)
    if count is None:
        return np.asarray(start, np.int32)
    return (start + step * np.arange(count)).astype(np.int32)


def make_plan(shape: Shape, row: Sequence[Entry], wrap: bool = True) -> Plan:
    """The plan of an index without masks into an array of ``shape``."""
    has_arrays = any(_is_array(e) and e.ndim for e in row)
    advanced = [i for i, e in enumerate(row) if _is_array(e) or (has_arrays and type(e) is int)]
    shapes = [row[i].shape for i in advanced if _is_array(row[i])]
    try:
        batch_shape = np.broadcast_shapes(*shapes)
    except TypeError:
        batch_shape = lax.broadcast_shapes(*shapes)
    layout = _Layout(batch_shape, wrap)
    # Index arrays side by side put their axes in their place, and others in front.
    are_adjacent = not advanced or advanced[-1] - advanced[0] == len(advanced) - 1
    home = advanced[0] if advanced and are_adjacent else None
    if not are_adjacent:
        layout.add_batch()
    axis = 0
    for i, entry in enumerate(row):
        if i == home:
            layout.add_batch()
        if entry is None:
            layout.add_new_axis()
            continue
        if isinstance(entry, slice):
            layout.add_slice(axis, shape[axis], entry)
        else:
            layout.add_index(axis, shape[axis], entry)
        axis += 1
    # A traced integer is one place; index vectors differ by slices with a step alone.
    return layout.plan(not has_arrays and all(_step(e) > 0 for e in row))


def _step(entry: Entry) -> int:
    return entry.step if isinstance(entry, slice) and entry.step is not None else 1


def _is_array(entry: Entry) -> bool:
    return isinstance(entry, (np.ndarray, Array))


def _index_vectors(starts: Sequence[_Start], batch: Shape, home: int, rank: int) -> Any:
    """The index values of all axes side by side, ``[*batch, k]``."""
    columns = []
    for _, values, position in starts:
        if position is None:
            dims: tuple[int, ...] = ()
        elif position == _SHARED:
            dims = tuple(range(home + rank - values.ndim, home + rank))
        else:
            dims = (position,)
        columns.append((values, dims))
    if all(isinstance(values, (np.ndarray, np.generic)) for values, _ in columns):
        full = np.empty((*batch, len(columns)), np.int32)
        for k, (values, dims) in enumerate(columns):
            spread = [1] * len(batch)
            for d, n in zip(dims, np.shape(values), strict=True):
                spread[d] = n
            full[..., k] = np.reshape(values, spread)
        return full
    parts = []
    for values, dims in columns:
        values = lax.convert_element_type(values, np.int32)
        thin = lax.broadcast_in_dim(
            values,
            tuple(values.shape[dims.index(d)] if d in dims else 1 for d in range(len(batch))),
            dims,
        )
        full_column = broadcast_to_shape("indexing", thin, batch)
        parts.append(lax.expand_dims(full_column, (len(batch),)))
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, len(batch))
