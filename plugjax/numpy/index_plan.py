"""What an index such as ``x[1:, None, i]`` means: NumPy's rules, as the axes of one gather or scatter.

An index is a row of entries, one for each axis that it consumes: integers, slices, integer arrays; ``None`` consumes no axis.
A list or tuple that is an entry of a tuple is an array.
A :class:`Plan` says where the axes of the result come from: a *window* is an axis of the operand, cut contiguously; a *batch*
axis runs over index values, those of the integer arrays or of a slice with a step.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.core import dtypes
from plugjax.core.array import Array
from plugjax.core.aval import Shape
from plugjax.core.errors import NonConcreteBooleanIndexError
from plugjax.core.trace import Tracer
from plugjax.core.vocabulary import select_n_p
from plugjax.numpy.creation import array
from plugjax.numpy.promotion import Operand, broadcast_to_shape, converted

__all__ = ["Entry", "Plan", "entries", "make_plan", "masks_as_arrays", "normalized", "slice_bounds"]

# Beyond each axis: indices are int32.
_FAR = np.iinfo(np.int32).max

Entry = Any  # int, slice, None, bool, a NumPy array of integers, or a traced one

_STATIC_SLICE = (
    "indexing: a traced bound in {} leaves the size of the result open. "
    "lax.dynamic_slice and lax.dynamic_update_slice take a traced start and a static size."
)

_BARE_LIST = (
    "indexing: a list alone is ambiguous. Make it an array with `jnp.array`, or use `x[list,]` for indices of the first axis, "
    "or `x[tuple(list)]` if each entry belongs to another axis."
)


def entries(shape: Shape, index: Any) -> list[Entry]:
    """The entries of an index, with masks (but those of rank 0) made into integer arrays and the ellipsis into slices.

    Raises:
        IndexError: more entries than axes, a mask of another shape, or an entry that is no array.
        NonConcreteBooleanIndexError: a traced mask.
        TypeError: an index that is a list, or an array of numbers that are no integers.
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
        raise IndexError(f"indexing: {consumed} indices came for an array with {len(shape)} axes.")
    position = len(found) if ellipsis is None else ellipsis
    found[position:position] = [slice(None)] * missing
    return found


def masks_as_arrays(row: Sequence[Entry]) -> tuple[list[Entry], tuple[int, ...]]:
    """A row whose masks of rank 0 are index arrays of one element, or of none, and the axes of size 1 that the operand needs for them."""
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
        raise TypeError(f"indexing: a string is no index, got {entry!r}")
    if isinstance(entry, (list, tuple)):
        # Without elements it has the dtype of floats.
        entry = array(entry)
        entry = entry if entry.size else np.zeros(entry.shape, np.int32)
    if hasattr(entry, "__jax_array__"):
        entry = entry.__jax_array__()
    if type(entry) is Array and entry._placement.backend.host_visible:
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
        f"indexing: {described} at position {axis} is no index; convert it to integers or bools."
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
        raise
    return start, len(range(start, stop, step)), step


def normalized(index: Any, size: int, wrap: bool = True) -> Operand:
    """Index values as int32, negative ones counted from the end if ``wrap``."""
    if isinstance(index, np.ndarray):
        return (np.where(index < 0, index + size, index) if wrap else index).astype(np.int32)
    if index.dtype.kind == "u" or not wrap:
        return converted(index, dtypes.INT32)
    wide = converted(index, dtypes.INT32)
    shift = lax.add(wide, np.int32(size))
    return select_n_p.bind(lax.lt(wide, np.int32(0)), wide, shift)


@dataclass(frozen=True)
class Plan:
    """An index as a gather.

    Attributes:
        indices: index vectors ``[*batch, k]``.
        numbers: what the axes mean.
        slice_sizes: size of the window along each axis of the operand.
        shape: of the gather's result.
        new_axes: axes of size 1 to insert into that result.
        ordered: whether the index vectors are known to be sorted and unique.
    """

    indices: Operand
    numbers: lax.GatherDimensionNumbers
    slice_sizes: tuple[int, ...]
    shape: Shape
    new_axes: tuple[int, ...]
    ordered: bool


def make_plan(shape: Shape, row: Sequence[Entry], wrap: bool = True) -> Plan:
    """The plan of an index without masks into an array of ``shape``."""
    has_arrays = any(_is_array(e) and e.ndim for e in row)
    advanced = [i for i, e in enumerate(row) if _is_array(e) or (has_arrays and type(e) is int)]
    batch_shape = np.broadcast_shapes(*[row[i].shape for i in advanced if _is_array(row[i])])
    adjacent = not advanced or advanced[-1] - advanced[0] == len(advanced) - 1
    home = advanced[0] if advanced and adjacent else -1

    sizes: list[int] = []  # of the result, new axes included
    new_axes: list[int] = []
    windows: list[int] = []  # axes of the result, new axes not counted
    batch_sizes: list[int] = []
    batch_home = 0
    starts: list[
        tuple[int, Any, int | None]
    ] = []  # axis, values, position of a batch axis of their own
    slice_sizes: list[int] = []
    collapsed: list[int] = []
    plain = 0

    def place_batch() -> None:
        nonlocal batch_home, plain
        batch_home = len(batch_sizes)
        batch_sizes.extend(batch_shape)
        sizes.extend(batch_shape)
        plain += len(batch_shape)

    if advanced and not adjacent:
        place_batch()
    axis = 0
    for i, entry in enumerate(row):
        if i == home:
            place_batch()
        if entry is None:
            new_axes.append(len(sizes))
            sizes.append(1)
            continue
        size = shape[axis]
        if isinstance(entry, slice):
            start, count, step = slice_bounds(entry, size)
            if step == 1:
                windows.append(plain)
                slice_sizes.append(count)
                if count != size:
                    starts.append((axis, np.asarray(start, np.int32), None))
            else:
                values = (start + step * np.arange(count)).astype(np.int32)
                starts.append((axis, values, len(batch_sizes)))
                batch_sizes.append(count)
                slice_sizes.append(1)
                collapsed.append(axis)
            sizes.append(count)
            plain += 1
        else:
            if not size and (type(entry) is int or 0 not in batch_shape):
                raise IndexError(f"indexing: axis {axis} has size 0, so no index lies in it.")
            values = (
                np.asarray(entry + size if wrap and entry < 0 else min(entry, _FAR), np.int32)
                if type(entry) is int
                else normalized(entry, size, wrap)
            )
            starts.append((axis, values, -1))
            slice_sizes.append(1)
            collapsed.append(axis)
        axis += 1

    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(windows),
        collapsed_slice_dims=tuple(collapsed),
        start_index_map=tuple(a for a, _, _ in starts),
    )
    result = tuple(n for i, n in enumerate(sizes) if i not in new_axes)
    indices = _index_vectors(starts, tuple(batch_sizes), batch_home, len(batch_shape))
    # A traced integer is one place; index vectors differ by slices with a step alone.
    ordered = not has_arrays
    return Plan(
        indices, numbers, tuple(slice_sizes), result, tuple(new_axes),
        ordered and all(_step(e) > 0 for e in row),
    )  # fmt: skip


def _step(entry: Entry) -> int:
    return entry.step if isinstance(entry, slice) and entry.step is not None else 1


def _is_array(entry: Entry) -> bool:
    return isinstance(entry, (np.ndarray, Array))


def _index_vectors(
    starts: Sequence[tuple[int, Any, int | None]], batch: Shape, home: int, rank: int
) -> Operand:
    """The index values of all axes side by side, ``[*batch, k]``."""
    columns = []
    for _, values, position in starts:
        if position is None:
            dims: tuple[int, ...] = ()
        elif position == -1:
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
