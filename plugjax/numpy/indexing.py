"""Reading and updating parts of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, Tracer, from_host
from plugjax.extend.errors import (
    ConcretizationTypeError,
    InconclusiveDimensionOperation,
    IndexDtypeError,
    OutArgumentError,
    ShapeError,
)
from plugjax.lax.axes import is_symbolic
from plugjax.lax.dimension_numbers import GatherScatterMode
from plugjax.numpy.index_plan import (
    Entry,
    Plan,
    entries,
    make_plan,
    masks_as_arrays,
    normalized,
    slice_bounds,
)
from plugjax.numpy.manipulation import canonical_axis, ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    broadcast_shape,
    broadcast_to_shape,
    check_arraylike,
    convert,
    converted,
    reject_out,
    same_dtype,
    scalar,
)
from plugjax.numpy.shape_info import shape as shape_of

__all__ = [
    "choose", "compress", "diagonal", "extract", "getitem", "ix_", "take", "take_along_axis",
]  # fmt: skip


def getitem(x: Array, index: Any) -> Array:
    """``x[index]``: integers, slices, ``None``, ``...``, integer arrays, concrete masks; in a tuple, lists of those.

    Differs from NumPy:
        An integer out of bounds reads the nearest element. A list alone does not index: ``x[[0, 1],]`` does.

    Raises:
        IndexError: too many indices, a traced mask, or a traced slice bound.
        TypeError: an index that is not an integer.
    """
    shape = x.aval.shape
    kind = type(index)
    if kind is int and shape:
        return _take_one(x, index, shape)
    if kind is slice and shape:
        return _cut(x, [index], shape)
    row = entries(shape, index)
    for entry in row:
        kind = type(entry)
        if kind is not int and kind is not slice and entry is not None:
            break
    else:
        return _static(x, row, shape)
    if all(
        type(e) in (int, slice) or e is None or (isinstance(e, Array) and not e.ndim) for e in row
    ):
        return _dynamic(x, row, shape)
    return gather(x, row, None, None, False, False)


def _lies_within(position: int, size: int) -> bool:
    try:
        return 0 <= position < size
    except InconclusiveDimensionOperation:
        # A dynamic slice moves it inside.
        return False


def _take_one(x: Array, index: int, shape: Sequence[int]) -> Array:
    size = shape[0]
    if not size:
        raise IndexError(f"indexing: axis 0 has size 0, so {index} does not lie in it.")
    position = index + size if index < 0 else index
    rank = len(shape)
    if not _lies_within(position, size):
        return _dynamic(x, [index, *(slice(None),) * (rank - 1)], shape)
    cut = lax.slice_p.bind(
        x,
        start_indices=(position, *(0,) * (rank - 1)),
        limit_indices=(position + 1, *shape[1:]),
        strides=None,
    )
    return lax.squeeze_p.bind(cut, dimensions=(0,))


def _cut(x: Array, slices: Sequence[slice], shape: Sequence[int]) -> Array:
    """``x`` sliced along its first axes."""
    starts, limits, strides, reverse = [], [], [], []
    whole = True
    for axis, entry in enumerate(slices):
        size = shape[axis]
        start, count, step = slice_bounds(entry, size)
        if step < 0:
            start += (count - 1) * step if count else -start
            step = -step
            reverse.append(axis)
        if not count:
            start = 0
        limit = start + (count - 1) * step + 1 if count else start
        starts.append(start)
        limits.append(limit)
        strides.append(step)
        whole = whole and count == size
    if not whole:
        rest = shape[len(starts) :]
        plain = all(s == 1 for s in strides)
        x = lax.slice_p.bind(
            x,
            start_indices=(*starts, *(0,) * len(rest)),
            limit_indices=(*limits, *rest),
            strides=None if plain else (*strides, *(1,) * len(rest)),
        )
    return lax.rev(x, tuple(reverse)) if reverse else x


def _static(x: Array, row: Sequence[Entry], shape: Sequence[int]) -> Array:
    slices: list[slice] = []
    single: list[int] = []
    new: list[int] = []
    rank = 0
    for entry in row:
        if entry is None:
            new.append(rank)
            rank += 1
        elif type(entry) is int:
            size = shape[len(slices)]
            if not size:
                raise IndexError(
                    f"indexing: axis {len(slices)} has size 0, so {entry} does not lie in it."
                )
            position = entry + size if entry < 0 else entry
            if not _lies_within(position, size):
                return _dynamic(x, row, shape)
            single.append(len(slices))
            slices.append(slice(position, position + 1))
        else:
            slices.append(entry)
            rank += 1
    x = _cut(x, slices, shape)
    if single:
        x = lax.squeeze_p.bind(x, dimensions=tuple(single))
    return lax.expand_dims(x, tuple(new)) if new else x


def _dynamic(x: Array, row: Sequence[Entry], shape: Sequence[int]) -> Array:
    """Scalars, some of them traced or out of bounds, beside slices: one dynamic slice, which clamps."""
    consuming = [e for e in row if e is not None]
    static = [e if type(e) is slice else slice(None) for e in consuming]
    x = _cut(x, static, shape)
    starts: list[Any] = []
    sizes: list[int] = []
    for entry, size in zip(consuming, x.shape, strict=True):
        if type(entry) is slice:
            starts.append(np.int32(0))
            sizes.append(size)
        else:
            starts.append(
                _start(entry + size if entry < 0 else entry)
                if type(entry) is int
                else normalized(
                    entry, size, wrap=False
                )  # dynamic_slice counts negative ones from the end.
            )
            sizes.append(1)
    from_end = [type(entry) is not int for entry in consuming]
    x = lax.dynamic_slice(x, starts, sizes, allow_negative_indices=from_end)
    x = lax.squeeze(x, tuple(i for i, e in enumerate(consuming) if type(e) is not slice))
    new: list[int] = []
    rank = 0
    for entry in row:
        if entry is None:
            new.append(rank)
        rank += entry is None or type(entry) is slice
    return lax.expand_dims(x, tuple(new)) if new else x


def _start(position: int) -> np.ndarray:
    """An axis has fewer than 2**31 elements, so what is beyond an int32 is as far out of bounds as its limits."""
    limits = np.iinfo(np.int32)
    return np.asarray(min(max(position, limits.min), limits.max), np.int32)


def index_array(plan: Plan, x: Array) -> Operand:
    """The indices of a plan for ``x``."""
    indices = plan.indices
    if not isinstance(indices, np.ndarray):
        return indices
    if indices.shape == (1,) and isinstance(x, Tracer):
        # A number stands in the program; an array would be a constant beside it.
        return lax.broadcast(indices[0], (1,))
    return from_host(indices)


def gather(
    x: Array,
    row: Sequence[Entry],
    mode: Any,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    wrap: bool = True,
) -> Array:
    row, axes = masks_as_arrays(row)
    if axes:
        x = lax.expand_dims(x, axes)
    plan = make_plan(x.aval.shape, row, wrap)
    if not plan.numbers.start_index_map:
        result = x
    else:
        result = lax.gather(
            x,
            index_array(plan, x),
            plan.numbers,
            plan.slice_sizes,
            unique_indices=unique_indices or plan.ordered,
            indices_are_sorted=indices_are_sorted or plan.ordered,
            mode="promise_in_bounds" if mode is None and fill_value is None else mode,
            fill_value=fill_value,
        )
    return lax.expand_dims(result, plan.new_axes) if plan.new_axes else result


def integers(who: str, indices: ArrayLike) -> Operand:
    found = as_operand(who, indices)
    if not found.size and not dtypes.is_extended(found.dtype):
        # An empty list becomes a float array; it selects nothing.
        return converted(found, dtypes.INT32)
    if not dtypes.is_integer(found.dtype):
        raise IndexDtypeError(
            f"{who} requires integer indices, got {found.aval.str_short()}; convert them with .astype(int)."
        )
    return found


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Elements of ``a`` along an axis; ``axis=None`` flattens ``a`` first.

    Differs from NumPy:
        Out of bounds, ``mode`` ``"fill"`` (the default) gives nan (for integers the smallest, or largest unsigned,
        number), ``"clip"`` the nearest element, ``"wrap"`` continues at the other end.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.take(jnp.array([10.0, 20.0]), jnp.array([1, 5]))
        Array([20., nan], dtype=float32)
    """
    if out is not None:
        raise OutArgumentError(
            "take: 'out' cannot be written, since arrays are immutable. Use the result instead."
        )
    x = as_operand("take", a)
    if isinstance(fill_value, str):
        raise TypeError(f"take: fill_value is a number, got {fill_value!r}.")
    chosen = as_operand("take", indices)
    # Bools count as 0 and 1.
    chosen = (
        converted(chosen, dtypes.INT32) if chosen.dtype == dtypes.BOOL else integers("take", chosen)
    )
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis(axis, x.ndim)
    size = x.shape[axis]
    if mode == "raise":
        raise NotImplementedError(
            "take: mode='raise' is not possible; use 'fill', 'clip' or 'wrap'."
        )
    if not size and chosen.size:
        raise IndexError("take: cannot take elements from an empty axis")
    if mode == "wrap":
        n = scalar(size, chosen)
        rest = lax.rem(chosen, n)
        chosen, mode = (
            lax.select(lax.lt(rest, scalar(0, rest)), lax.add(rest, n), rest),
            "promise_in_bounds",
        )
    elif mode == "clip":
        # Negative indices are clipped, not counted from the end.
        chosen = lax.clamp(scalar(0, chosen), chosen, scalar(max(size - 1, 0), chosen))
        mode = "promise_in_bounds"
    row: list[Entry] = [slice(None)] * x.ndim
    entry = (
        np.asarray(chosen) if type(chosen) is Array and chosen._placement.host_visible else chosen
    )
    row[axis] = entry
    return gather(x, row, mode or "fill", fill_value, indices_are_sorted, unique_indices)


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Elements along an axis, at indices that differ from row to row.

    Shapes:
        arr: ``[..., n, ...]``.
        indices: ``[..., m, ...]``, the other axes broadcast with those of ``arr`` -> ``[..., m, ...]``.

    Args:
        arr: array.
        indices: integers.
        axis: the axis; with ``None`` the array is flattened.
        mode: treatment of indices out of bounds, as in ``x.at[...].get``; ``"one_hot"`` multiplies by a table instead
            of gathering.
        fill_value: value for elements out of bounds in mode ``"fill"``.
        wrap_negative_indices: whether negative indices count from the end; by default unless ``mode`` promises that all
            are in bounds.

    Example:
        >>> import plugjax.numpy as jnp
        >>> x = jnp.array([[1, 2], [3, 4]])
        >>> jnp.take_along_axis(x, jnp.array([[1], [0]]), 1)
        Array([[2],
               [3]], dtype=int32)
    """
    if wrap_negative_indices is None:
        wrap_negative_indices = mode != "promise_in_bounds"
    x, chosen, axis = along_axis("take_along_axis", arr, indices, axis, wrap_negative_indices)
    if not x.shape[axis]:
        return lax.full(chosen.shape, scalar(0, x))
    if mode == "one_hot":
        return _by_table(x, chosen, axis)
    batch = tuple(i for i in range(x.ndim) if i != axis)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
    )
    return lax.gather(
        x,
        lax.expand_dims(chosen, (x.ndim,)),
        numbers,
        tuple(min(1, size) if i in batch else 1 for i, size in enumerate(x.shape)),
        mode=mode or "fill",
        fill_value=fill_value,
    )


def _by_table(x: Operand, chosen: Operand, axis: int) -> Array:
    """Elements along an axis as products with one-hot rows; 0 out of bounds."""
    rest = tuple(i for i in range(x.ndim) if i != axis)
    full = (*chosen.shape, x.shape[axis])
    places = lax.broadcasted_iota(chosen.dtype, full, x.ndim)
    table = lax.eq(places, lax.broadcast_in_dim(chosen, full, tuple(range(x.ndim))))
    product = lax.dot_general(
        converted(table, x.dtype), x, (((x.ndim,), (axis,)), (rest, rest)),
        precision=lax.Precision.HIGHEST, preferred_element_type=x.dtype,
    )  # fmt: skip
    order = [*range(len(rest))]
    order.insert(axis, len(rest))
    return lax.transpose(product, tuple(order))


def along_axis(
    who: str, arr: ArrayLike, indices: ArrayLike, axis: int | None, wrap: bool = True
) -> tuple[Array, Operand, int]:
    x, chosen = as_operand(who, arr), integers(who, indices)
    if axis is None:
        if chosen.ndim != 1:
            raise ValueError(f"{who}: with axis=None indices is a vector, got shape {chosen.shape}")
        x, axis = ravel(x), 0
    if x.ndim != chosen.ndim:
        raise ValueError(
            f"{who}: indices has {chosen.ndim} axes and arr {x.ndim}; make them equal."
        )
    axis = canonical_axis(axis, x.ndim)
    if wrap:
        chosen = normalized(chosen, x.shape[axis])
    common = broadcast_shape(
        who, *[(*s[:axis], 1, *s[axis + 1 :]) for s in (x.shape, chosen.shape)]
    )

    def spread(value: Operand) -> Operand:
        return broadcast_to_shape(
            who, value, (*common[:axis], value.shape[axis], *common[axis + 1 :])
        )

    return spread(x), spread(chosen), axis


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonal of two axes, as the last axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.diagonal(jnp.array([[1, 2], [3, 4]]))
        Array([1, 4], dtype=int32)
    """
    x = as_operand("diagonal", a)
    if x.ndim < 2:
        raise ValueError("diagonal needs an array with two axes or more.")
    first, second = canonical_axis(axis1, x.ndim), canonical_axis(axis2, x.ndim)
    if first == second:
        raise ShapeError(
            f"diagonal: axis1={axis1} and axis2={axis2} are one axis of {x.aval.str_short()}; give two."
        )
    rest = [i for i in range(x.ndim) if i not in (first, second)]
    x = lax.transpose(x, (first, second, *rest))
    rows, columns = x.shape[:2]
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    if not size:
        return lax.full((*x.shape[2:], 0), 0, x.dtype)
    steps = lax.iota(np.int32, size) if is_symbolic(size) else np.arange(size, dtype=np.int32)
    found = getitem(x, (steps - min(offset, 0), steps + max(offset, 0)))
    return lax.transpose(found, (*range(1, found.ndim), 0))


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """Slices along an axis where a condition holds; the condition must be concrete, or ``size`` given.

    Raises:
        ValueError: the condition is not a vector, or holds beyond the axis, or ``size`` is larger than the axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.compress(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
        Array([1, 3], dtype=int32)
    """
    reject_out("compress", out)
    x = as_operand("compress", a)
    if axis is None:
        x, axis = ravel(x), 0
    axis = canonical_axis(axis, x.ndim)
    mask = as_operand("compress", condition)
    if mask.ndim != 1:
        raise ValueError(f"compress: the condition is a vector, got shape {mask.shape}.")
    length = x.shape[axis] if size is None else min(x.shape[axis], mask.shape[0])
    if size is not None and not 0 <= size <= length:
        raise ValueError(f"compress: size={size} of {length} slices.")
    if isinstance(mask, Tracer) and size is None:
        raise ConcretizationTypeError(
            mask, "jnp.compress under a transformation needs a static size."
        )
    if isinstance(mask, Tracer):
        found = lax.slice_in_dim(mask, 0, length).nonzero(size=size, fill_value=x.shape[axis])[0]
        return take(x, found, axis, mode="fill", fill_value=fill_value)
    chosen = np.nonzero(np.asarray(mask))[0].astype(np.int32)
    if size is None and np.any(chosen >= length):
        raise ValueError(f"compress: the condition holds beyond the axis, which has size {length}.")
    if not x.shape[axis]:
        return lax.full(x.shape, scalar(0, x))
    if size is not None:
        chosen = chosen[chosen < length]
        chosen = np.concatenate(
            [chosen, np.full(max(0, size - len(chosen)), x.shape[axis], np.int32)]
        )[:size]
    return take(x, from_host(chosen), axis, mode="fill", fill_value=fill_value)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """Elements of the flattened array where a condition holds.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.extract(jnp.array([True, False]), jnp.array([1, 2]))
        Array([1], dtype=int32)
    """
    check_arraylike("extract", fill_value)
    # Without a size nothing is filled.
    filler = 0 if size is None else fill_value
    return compress(ravel(condition), arr, size=size, fill_value=filler)


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Index arrays whose broadcast is the grid of the given vectors.

    Example:
        >>> import plugjax.numpy as jnp
        >>> [i.shape for i in jnp.ix_(jnp.array([0, 1]), jnp.array([0, 1, 2]))]
        [(2, 1), (1, 3)]
    """
    vectors = [as_operand("ix_", a) for a in args]
    found = []
    for i, v in enumerate(vectors):
        if v.ndim != 1:
            raise ValueError(f"ix_ takes vectors, got shape {v.shape}")
        if v.dtype.kind == "b":
            raise NotImplementedError("ix_ takes no masks; give the positions, mask.nonzero()[0].")
        shape = tuple(v.shape[0] if i == j else 1 for j in range(len(vectors)))
        found.append(lax.reshape(v, shape))
    return tuple(found)


def choose(
    a: ArrayLike, choices: Sequence[ArrayLike], out: None = None, mode: str = "raise"
) -> Array:
    """For each element of ``a``, the element of the choice with that number; mode ``"wrap"`` or ``"clip"``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.choose(jnp.array([1, 0]), [jnp.array([10, 20]), jnp.array([30, 40])])
        Array([30, 20], dtype=int32)
    """
    reject_out("choose", out)
    which = as_operand("choose", a)
    if not dtypes.is_integer(which.dtype):
        raise ValueError(f"choose: a holds integers, got {which.dtype.name}.")
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"choose: mode is 'raise', 'wrap' or 'clip', got {mode!r}.")
    check_arraylike("choose", *choices)
    count = len(choices)
    if mode == "raise":
        if isinstance(which, Tracer):
            raise ConcretizationTypeError(
                which, "jnp.choose with mode='raise' needs concrete indices; use 'wrap' or 'clip'."
            )
        values = np.asarray(which)
        if np.any((values < 0) | (values >= count)):
            raise ValueError(
                f"choose: invalid entry in choice array: an index is not below {count}, or negative; mode 'wrap' or 'clip' allows that."
            )
    shape = broadcast_shape("choose", which.shape, *[shape_of(c) for c in choices])
    options = [broadcast_to_shape("choose", c, shape) for c in same_dtype("choose", *choices)]
    stacked = lax.concatenate([lax.expand_dims(o, (0,)) for o in options], 0)
    stacked = convert(stacked, stacked.dtype)
    index = lax.expand_dims(broadcast_to_shape("choose", which, shape), (0,))
    if mode == "wrap":
        index = index % count
    index = lax.clamp(scalar(0, index), index, scalar(count - 1, index))
    return lax.squeeze(take_along_axis(stacked, index, 0), (0,))
