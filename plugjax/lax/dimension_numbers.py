"""Dimension numbers of gather and scatter, and checks of shapes against them.

Reference:
    StableHLO specification, ``gather`` and ``scatter``.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from plugjax.extend import dtypes
from plugjax.extend.core import ShapedArray
from plugjax.extend.errors import ShapeError
from plugjax.lax.axes import past


class GatherScatterMode(enum.Enum):
    """The treatment of a window that leaves the operand.

    ``CLIP`` moves it back in; ``FILL_OR_DROP`` fills it in reads and drops it in writes; ``PROMISE_IN_BOUNDS`` promises
    that there is none.
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode for a name, for ``None`` (``FILL_OR_DROP``), or itself.

        Raises:
            ValueError: an unknown name.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        found = _MODES.get(mode) if mode is None or isinstance(mode, str) else None
        if found is None:
            names = ", ".join(repr(name) for name in _MODES if name)
            raise ValueError(f"Unknown gather mode {mode!r}; expected one of {names}.")
        return found

    def __repr__(self) -> str:
        return f"GatherScatterMode.{self.name}"


_MODES: dict[str | None, GatherScatterMode] = {
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    None: GatherScatterMode.FILL_OR_DROP,
}


@dataclass(frozen=True)
class GatherDimensionNumbers:
    """Meaning of axes in a gather.

    Attributes:
        offset_dims: axes of the result that run within a window.
        collapsed_slice_dims: axes of the operand along which windows have size 1, and which the
            result lacks.
        start_index_map: for each entry of an index vector, the axis of the operand that it is an
            index of.
        operand_batching_dims: axes of the operand that go together with
            ``start_indices_batching_dims``.
        start_indices_batching_dims: axes of the indices.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()

    def as_scatter(self) -> ScatterDimensionNumbers:
        """The numbers of the scatter that writes the windows back."""
        return ScatterDimensionNumbers(
            self.offset_dims,
            self.collapsed_slice_dims,
            self.start_index_map,
            self.operand_batching_dims,
            self.start_indices_batching_dims,
        )


@dataclass(frozen=True)
class ScatterDimensionNumbers:
    """Meaning of axes in a scatter.

    Attributes:
        update_window_dims: axes of the updates that run within a window.
        inserted_window_dims: axes of the operand along which windows have size 1, and which the
            updates lack.
        scatter_dims_to_operand_dims: for each entry of an index vector, the axis of the operand.
        operand_batching_dims: axes of the operand that go together with
            ``scatter_indices_batching_dims``.
        scatter_indices_batching_dims: axes of the indices.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()

    def as_gather(self) -> GatherDimensionNumbers:
        """The numbers of the gather that reads the windows."""
        return GatherDimensionNumbers(
            self.update_window_dims,
            self.inserted_window_dims,
            self.scatter_dims_to_operand_dims,
            self.operand_batching_dims,
            self.scatter_indices_batching_dims,
        )


def gather_shape(
    operand: ShapedArray,
    indices: ShapedArray,
    numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    who: str = "gather",
) -> tuple[int, ...]:
    """Shape of the result of a gather, which is that of the updates of a scatter.

    Raises:
        ShapeError: the numbers, shapes and sizes do not fit together.
    """
    if indices.ndim < 1:
        raise ShapeError(f"{who}: indices need a last axis of index vectors, got a scalar.")
    dropped = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    _check_sorted(who, "collapsed_slice_dims", numbers.collapsed_slice_dims, operand.ndim)
    _check_distinct(who, "operand_batching_dims", numbers.operand_batching_dims, operand.ndim)
    _check_distinct(who, "collapsed and batching dims", dropped, operand.ndim)
    mapped = (*numbers.start_index_map, *numbers.operand_batching_dims)
    _check_distinct(who, "start_index_map and batching dims", mapped, operand.ndim)
    _check_distinct(
        who, "start_indices_batching_dims", numbers.start_indices_batching_dims, indices.ndim - 1
    )
    if len(numbers.start_index_map) != indices.shape[-1]:
        raise ShapeError(
            f"{who}: start_index_map {numbers.start_index_map} needs index vectors of length "
            f"{len(numbers.start_index_map)}, got indices {indices.str_short()}."
        )
    batching = [indices.shape[d] for d in numbers.start_indices_batching_dims]
    if [operand.shape[d] for d in numbers.operand_batching_dims] != batching:
        raise ShapeError(
            f"{who}: batching dims of operand {operand.str_short()} and indices "
            f"{indices.str_short()} "
            f"have different sizes: {numbers}."
        )
    _check_slice_sizes(who, operand, numbers, slice_sizes, 0 in indices.shape[:-1])
    window = [size for d, size in enumerate(slice_sizes) if d not in dropped]
    rank = len(window) + indices.ndim - 1
    if len(numbers.offset_dims) != len(window):
        raise ShapeError(
            f"{who}: windows have {len(window)} axes that are neither collapsed nor batching, but "
            "offset_dims "
            f"{numbers.offset_dims} name {len(numbers.offset_dims)}."
        )
    _check_sorted(who, "offset_dims", numbers.offset_dims, rank)
    sizes, batch = iter(window), iter(indices.shape[:-1])
    return tuple(next(sizes) if d in numbers.offset_dims else next(batch) for d in range(rank))


def check_indices(who: str, indices: ShapedArray) -> None:
    """Raise unless the indices are integers."""
    if not dtypes.is_integer(indices.dtype):
        raise ValueError(f"{who} needs integers as indices, got {indices.str_short()}.")


def _check_slice_sizes(
    who: str,
    operand: ShapedArray,
    numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    nothing: bool,
) -> None:
    if len(slice_sizes) != operand.ndim:
        raise ShapeError(
            f"{who} needs a slice size for each axis of operand {operand.str_short()}, got {tuple(slice_sizes)}."
        )
    for d, (size, bound) in enumerate(zip(slice_sizes, operand.shape, strict=True)):
        # Zero windows fit anywhere.
        if not 0 <= size <= bound and not nothing:
            raise ShapeError(
                f"{who}: slice size {size} of axis {d} is out of range for {operand.str_short()}."
            )
    for d in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims):
        if slice_sizes[d] > 1:
            raise ShapeError(
                f"{who}: only axes with slice size 1 can be collapsed or batching, but axis {d} of "
                f"{operand.str_short()} has slice size {slice_sizes[d]}."
            )


def _check_distinct(who: str, what: str, axes: Sequence[int], rank: int) -> None:
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise ShapeError(
            f"{who}: {what} must be distinct axes from 0 to {rank - 1}, got {tuple(axes)}."
        )


def _check_sorted(who: str, what: str, axes: Sequence[int], rank: int) -> None:
    _check_distinct(who, what, axes, rank)
    if list(axes) != sorted(axes):
        raise ShapeError(f"{who}: {what} must be sorted, got {tuple(axes)}.")


def scatter_slice_sizes(
    operand: ShapedArray, updates: ShapedArray, numbers: ScatterDimensionNumbers
) -> tuple[int, ...]:
    """Shape of a window of a scatter, with one entry for each axis of the operand."""
    dropped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    _check_distinct("scatter", "inserted and batching dims", dropped, operand.ndim)
    if len(numbers.update_window_dims) + len(dropped) != operand.ndim:
        raise ShapeError(
            f"scatter: every axis of operand {operand.str_short()} must be inserted, batching, or "
            "one of "
            f"update_window_dims: {numbers}."
        )
    _check_sorted("scatter", "update_window_dims", numbers.update_window_dims, updates.ndim)
    window = iter(numbers.update_window_dims)
    # An axis of size 0 has no room for an inserted window: then nothing is written.
    sizes = tuple(
        min(1, bound) if d in dropped else updates.shape[next(window)]
        for d, bound in enumerate(operand.shape)
    )
    for d, (size, bound) in enumerate(zip(sizes, operand.shape, strict=True)):
        if size > bound:
            raise ShapeError(
                f"scatter: windows of updates {updates.str_short()} have size {size} along axis "
                f"{d} of operand "
                f"{operand.str_short()}."
            )
    return sizes


def batched_numbers(
    numbers: GatherDimensionNumbers, operand: bool, indices: bool
) -> GatherDimensionNumbers:
    """The numbers with a batch axis in front of the result, and of the operands that have it."""

    def of_operand(axes: tuple[int, ...]) -> tuple[int, ...]:
        return past(axes, 0) if operand else axes

    offsets = past(numbers.offset_dims, 0)
    index_batching = numbers.start_indices_batching_dims
    if indices:
        index_batching = past(index_batching, 0)
    both = (0,) if operand and indices else ()
    return GatherDimensionNumbers(
        # The operand's batch axis is part of the window unless the indices have a batch axis too.
        offset_dims=(0, *offsets) if operand and not indices else offsets,
        collapsed_slice_dims=of_operand(numbers.collapsed_slice_dims),
        start_index_map=of_operand(numbers.start_index_map),
        operand_batching_dims=(*both, *of_operand(numbers.operand_batching_dims)),
        start_indices_batching_dims=(*both, *index_batching),
    )
