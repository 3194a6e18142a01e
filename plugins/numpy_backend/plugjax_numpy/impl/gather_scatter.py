"""Kernels of gather and of the scatters.

The operand has *block* axes, along which every window is the whole axis, and *indexed* axes. A window is then a set of
positions along the indexed axes, with a block at each position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import gather_scatter as lax
from plugjax.lax.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)

# Up to this many updates of one row are combined in rounds; beyond it reduceat is faster.
_ROUNDS = 64


@dataclass(slots=True)
class _Places:
    """Positions of windows.

    Attributes:
        indexed: indexed axes of the operand.
        block: block axes of the operand.
        index: along each indexed axis, integers ``[batch..., window axes that are indexed...]``, broadcast together.
        valid: for each window whether it lies within the operand, ``[batch...]``; ``None`` if all do.
        window: indexed axes that windows keep.
    """

    indexed: list[int]
    block: list[int]
    index: tuple[Value, ...]
    valid: Value | None
    window: list[int]


def _places(
    shape: tuple[int, ...],
    indices: Value,
    numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    mode: GatherScatterMode,
    must_check: bool,
) -> _Places:
    indices = np.asarray(indices)
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.iinfo(np.int64).max)
    indices = indices.astype(np.intp, copy=False)
    batch_rank = indices.ndim - 1
    dropped = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    indexed: list[int] = []
    block: list[int] = []
    for d, (size, bound) in enumerate(zip(slice_sizes, shape, strict=True)):
        whole = size == bound and d not in dropped
        (block if whole else indexed).append(d)
    window = [d for d in indexed if d not in dropped]
    checks = mode is GatherScatterMode.FILL_OR_DROP or must_check
    valid: Value | None = None
    starts: dict[int, Value] = {}
    for column, d in enumerate(numbers.start_index_map):
        start = indices[..., column]
        last = shape[d] - slice_sizes[d]
        inside = (start >= 0) & (start <= last)
        if checks and mode is not GatherScatterMode.CLIP and not inside.all():
            valid = inside if valid is None else valid & inside
        starts[d] = np.clip(start, 0, max(last, 0))
    for d, axis in zip(
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True
    ):
        starts[d] = np.arange(shape[d]).reshape([-1 if a == axis else 1 for a in range(batch_rank)])
    index = []
    for d in indexed:
        start = starts.get(d)
        place = np.zeros((1,) * batch_rank, np.intp) if start is None else start
        place = place.reshape((*place.shape, *(1,) * len(window)))
        if d in window:
            steps = [-1 if w == d else 1 for w in window]
            place = place + np.arange(slice_sizes[d]).reshape((*(1,) * batch_rank, *steps))
        index.append(place)
    return _Places(indexed, block, tuple(index), valid, window)


def _linear(places: _Places, shape: tuple[int, ...], full: tuple[int, ...]) -> Value:
    """Positions as linear indices over all indexed axes, in the shape ``full``."""
    total: Any = np.intp(0)
    for d, place in zip(places.indexed, places.index, strict=True):
        total = total * shape[d] + place
    return np.broadcast_to(total, full)


@rules.define(impl, lax.gather_p)
def _gather(
    x: Value,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> Value:
    x, indices = np.asarray(x), np.asarray(indices)
    places = _places(x.shape, indices, dimension_numbers, slice_sizes, mode, False)
    batch = indices.shape[:-1]
    head = (*batch, *(slice_sizes[d] for d in places.window))
    tail = tuple(x.shape[d] for d in places.block)
    count = math.prod(x.shape[d] for d in places.indexed)
    first = places.indexed[0] if places.indexed else 0
    if not places.indexed:
        found = np.broadcast_to(x, (*head, *tail))
    elif not math.prod(head) or not x.size:
        found = np.zeros((*head, *tail), x.dtype)
    elif places.indexed == list(range(first, first + len(places.indexed))):
        # Merge neighbouring axes into one: np.take is fastest then.
        lead = x.shape[:first]
        rows = (
            x.reshape(*lead, count, -1)
            if first == 0
            else x.reshape(math.prod(lead), count, *x.shape[first + len(places.indexed) :])
        )
        numbers = _linear(places, x.shape, head)
        if first == 0:
            found = np.take(rows, numbers, 0, mode="clip").reshape((*head, *tail))
        else:
            taken = np.take(rows, numbers.reshape(-1), 1, mode="clip")
            found = np.moveaxis(taken, 1, 0).reshape((*head, *tail))
    else:
        found = x.transpose(*places.indexed, *places.block)[places.index]
        found = np.broadcast_to(found, (*head, *tail))
    if places.valid is not None:
        valid = places.valid.reshape((*batch, *(1,) * (found.ndim - len(batch))))
        found = np.where(valid, found, np.asarray(fill_value).astype(x.dtype))
    return found.transpose(_result_order(places, len(batch), dimension_numbers))


def _result_order(
    places: _Places, batch_rank: int, numbers: GatherDimensionNumbers
) -> tuple[int, ...]:
    """The permutation from ``[batch, indexed window axes, block axes]`` to those of a result."""
    source = {d: batch_rank + i for i, d in enumerate((*places.window, *places.block))}
    offsets = iter(source[d] for d in sorted(source))
    batch = iter(range(batch_rank))
    rank = batch_rank + len(source)
    return tuple(next(offsets if d in numbers.offset_dims else batch) for d in range(rank))


def _scatter(primitive: Any, ufunc: Any) -> None:
    @rules.define(impl, primitive)
    def _kernel(
        x: Value,
        indices: Value,
        updates: Value,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
    ) -> Value:
        x, indices, updates = np.asarray(x), np.asarray(indices), np.asarray(updates)
        numbers = dimension_numbers.as_gather()
        sizes = _window_sizes(x.shape, updates.shape, dimension_numbers)
        places = _places(x.shape, indices, numbers, sizes, mode, True)
        batch = indices.shape[:-1]
        order = _result_order(places, len(batch), numbers)
        inverse = sorted(range(len(order)), key=order.__getitem__)
        given = updates.transpose(inverse)
        head = given.shape[: len(batch) + len(places.window)]
        axes = (*places.indexed, *places.block)
        moved = x.transpose(axes)
        out = np.array(moved, order="C")
        if x.size and updates.size:
            block = math.prod(x.shape[d] for d in places.block)
            rows = _linear(places, x.shape, head)
            if places.valid is not None:
                valid = places.valid
                rows, given = rows[valid], given[valid]
            _combine(
                ufunc,
                out.reshape(-1, block),
                rows.reshape(-1),
                given.reshape(-1, block),
                unique_indices,
            )
        back = sorted(range(len(axes)), key=axes.__getitem__)
        return out.transpose(back)


def _window_sizes(
    shape: tuple[int, ...], updates: tuple[int, ...], numbers: ScatterDimensionNumbers
) -> tuple[int, ...]:
    dropped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    window = iter(numbers.update_window_dims)
    return tuple(1 if d in dropped else updates[next(window)] for d in range(len(shape)))


def _combine(ufunc: Any, out: Value, rows: Value, given: Value, unique: bool) -> None:
    """Combine ``given[i]`` into ``out[rows[i]]`` in place, for each i."""
    if ufunc is None:
        out[rows] = given
        return
    if not rows.size:
        return
    if unique or rows.size == 1:
        out[rows] = ufunc(out[rows], given)
        return
    wide = out.dtype == np.float16 or out.dtype in dtypes.CUSTOM_FLOATS
    if out.shape[1] == 1 and not wide and out.dtype.kind != "V":
        ufunc.at(out.reshape(-1), rows, given.reshape(-1))
        return
    # Group the updates of each row: ufunc.at is slow on rows.
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(starts, append=rows.size)
    most = int(counts.max())
    if most <= _ROUNDS and not wide:
        # The first update of each row, then the second ones: no row occurs twice in a round.
        for i in range(most):
            chosen = starts[counts > i] + i
            target = ordered[chosen]
            out[target] = ufunc(out[target], given[order[chosen]])
        return
    sorted_updates = given[order].astype(np.float32) if wide else given[order]
    combined = ufunc.reduceat(sorted_updates, starts, axis=0, dtype=sorted_updates.dtype)
    target = ordered[starts]
    current = out[target].astype(sorted_updates.dtype) if wide else out[target]
    out[target] = ufunc(current, combined).astype(out.dtype)


_scatter(lax.scatter_p, None)
_scatter(lax.scatter_add_p, np.add)
_scatter(lax.scatter_mul_p, np.multiply)
_scatter(lax.scatter_min_p, np.minimum)
_scatter(lax.scatter_max_p, np.maximum)
