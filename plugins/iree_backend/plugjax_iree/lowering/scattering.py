"""The two forms that every scatter takes on IREE.

IREE 3.13 writes out of bounds, and refuses windows longer than 1 along an indexed axis as well as scatters into the result of a
slice. So a single window becomes an update of a slice, in place also in loops. Several windows become rows of one table: its
leading axis stands for the indexed axes of the operand, and its other axes are whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import BOOL, INT32, DType
from plugjax.lax.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    scatter_slice_sizes,
)
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.gather_scatter import along_last_axis, windows_inside
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import MAXIMUM, SUM, Reducer
from plugjax.stablehlo.reduction import reduce
from plugjax_iree.workarounds.overlapping_updates import apart
from plugjax_iree.workarounds.updated_values import to_update


def clamped(
    operand: ShapedArray,
    indices: Value,
    aval: ShapedArray,
    numbers: GatherDimensionNumbers,
    sizes: Sequence[int],
) -> Value:
    """Indices moved to where their windows lie within the operand, as int32; a constant if they are one."""
    last = [operand.shape[d] - sizes[d] for d in numbers.start_index_map]
    known = _known(indices, last)
    if known is not None:
        return mlir.constant(np.clip(known, 0, last).astype(np.int32))
    # In their own dtype: an unsigned index above the signed range is a large one.
    zero = mlir.constant(aval.dtype.type(0), aval.shape)
    limits = along_last_axis(last, aval)
    moved = mlir.value("stablehlo.clamp", aval, [zero, indices, limits])
    return convert(moved, aval, INT32)


def all_inside(
    operand: ShapedArray, indices: Value, numbers: GatherDimensionNumbers, sizes: Sequence[int]
) -> bool:
    """Whether the indices are a constant whose windows all lie within the operand."""
    last = [operand.shape[d] - sizes[d] for d in numbers.start_index_map]
    known = _known(indices, last)
    return known is not None and bool(np.all((known >= 0) & (known <= last)))


def _known(indices: Value, last: Sequence[int]) -> np.ndarray[Any, Any] | None:
    """The elements of constant indices into axes of known sizes, as int64; one above its range is the last of it."""
    known = None if mlir.has_symbols(last) else mlir.known_integers(indices)
    if known is not None and known.dtype == np.uint64:
        known = np.minimum(known, np.uint64(np.iinfo(np.int64).max))
    return None if known is None else known.astype(np.int64)


class Scatter:
    """One scatter, in either of its two forms.

    Attributes:
        ctx: the equation.
        operand: type of the operand.
        indices: type of the index vectors.
        updates: type of the updates.
        numbers: dimension numbers of the gather that reads the same windows.
        sizes: shape of a window.
        starts: where windows start, moved to lie within the operand.
        valid: for each index vector, whether its window lay within the operand before; ``None`` if that is not needed.
    """

    def __init__(
        self,
        ctx: EqnContext,
        indices: Value,
        numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        reducer: Reducer | None,
    ) -> None:
        self.ctx = ctx
        self.operand, self.indices, self.updates = ctx.avals_in
        self.dtype: DType = self.operand.dtype
        self.numbers = numbers.as_gather()
        self.reducer = reducer
        self.sizes = scatter_slice_sizes(self.operand, self.updates, numbers)
        self.batch = self.indices.shape[:-1]
        self.starts = clamped(self.operand, indices, self.indices, self.numbers, self.sizes)
        self.valid: Value | None = None
        # Indices that break the promise must not write to foreign memory: they are dropped, as on XLA.
        checked = mode is not GatherScatterMode.CLIP and self.numbers.start_index_map
        if checked and not all_inside(self.operand, indices, self.numbers, self.sizes):
            self.valid = windows_inside(
                self.operand, indices, self.indices, self.numbers, self.sizes
            )

    def aval(self, *shape: int, dtype: DType | None = None) -> ShapedArray:
        """A type, of the operand's dtype if none is given."""
        return ShapedArray(shape, dtype or self.dtype)

    def column(self, axis: int) -> Value:
        """The starts along an axis of the operand, in the shape of the batch."""
        place = self.numbers.start_index_map.index(axis)
        start = [0] * len(self.batch) + [place]
        limit = [*self.batch, place + 1]
        cut = mlir.static_slice(self.starts, self.aval(*self.batch, 1, dtype=INT32), start, limit)
        return mlir.value("stablehlo.reshape", self.aval(*self.batch, dtype=INT32), [cut])

    def one_window(self, operand: Value, updates: Value) -> Value:
        """The window as a slice: read, combined and written back. IREE does that in place, in loops as well."""
        zero = mlir.constant(np.int32(0))
        scalar = self.aval(dtype=INT32)
        corner = [zero] * self.operand.ndim
        for axis in self.numbers.start_index_map:
            corner[axis] = mlir.value("stablehlo.reshape", scalar, [self.column(axis)])
        window = self.aval(*self.sizes)
        updates = apart(self.ctx, updates, operand)
        new = mlir.value("stablehlo.reshape", window, [updates])
        if self.reducer is not None or self.valid is not None:
            sizes = {"slice_sizes": mlir.i64s(self.sizes)}
            old = mlir.value("stablehlo.dynamic_slice", window, [operand, *corner], sizes)
            if self.reducer is not None:
                (new,) = self.reducer.body(self.dtype)(old, new)
            if self.valid is not None:
                flag = self.aval(dtype=BOOL)
                valid = mlir.value("stablehlo.reshape", flag, [self.valid])
                new = mlir.value("stablehlo.select", window, [valid, new, old])
        operands = [to_update(self.ctx, operand), new, *corner]
        return mlir.value("stablehlo.dynamic_update_slice", self.operand, operands)

    def many_windows(self, operand: Value, updates: Value) -> Value:
        """Rows of the leading axes, one number each; the trailing axes are those that are whole."""
        shape, dropped = self.operand.shape, set(self.numbers.collapsed_slice_dims)
        dropped |= set(self.numbers.operand_batching_dims)
        leading = [d for d, n in enumerate(shape) if d in dropped or self.sizes[d] < n]
        trailing = [d for d in range(len(shape)) if d not in leading]
        window = [d for d in leading if d not in dropped]
        block = [shape[d] for d in trailing]
        head = (*self.batch, *(self.sizes[d] for d in window))
        count, rows = math.prod(head), math.prod(shape[d] for d in leading)

        # Where the axes of the updates are: those of the batch, then of the window, in order.
        offsets = dict(zip(sorted((*window, *trailing)), self.numbers.offset_dims, strict=True))
        batch_axes = [d for d in range(self.updates.ndim) if d not in self.numbers.offset_dims]
        order = [*batch_axes, *(offsets[d] for d in (*window, *trailing))]
        given = _transposed(updates, self.updates, order)
        given_aval = self.aval(count, *block)
        given = mlir.value("stablehlo.reshape", given_aval, [apart(self.ctx, given, operand)])

        table_aval = self.aval(rows, *block)
        permutation = [*leading, *trailing]
        table = _transposed(operand, self.operand, permutation)
        table = mlir.value("stablehlo.reshape", table_aval, [table])
        # A scatter into what a slice or a reshape gives does not compile without it.
        table = to_update(self.ctx, table)

        places = apart(self.ctx, self.rows(leading, window, head), operand)
        if self.valid is not None:
            places, given = self.dropped(places, given, given_aval, table, head)
        found = self.scattered(table, table_aval, places, count, given)
        moved = self.aval(*(shape[d] for d in permutation))
        found = mlir.value("stablehlo.reshape", moved, [found])
        back = sorted(range(len(permutation)), key=permutation.__getitem__)
        return _transposed(found, moved, back)

    def rows(self, leading: Sequence[int], window: Sequence[int], head: tuple[int, ...]) -> Value:
        """The number of each row that is written, in one axis."""
        full = self.aval(*head, dtype=INT32)
        numbers = self.numbers
        batching = dict(
            zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
        )

        def iota(axis: int) -> Value:
            return mlir.value("stablehlo.iota", full, [], {"iota_dimension": mlir.i64(axis)})

        total = mlir.constant(np.int32(0), head)
        for d in leading:
            size = mlir.constant(np.int32(self.operand.shape[d]), head)
            total = mlir.value("stablehlo.multiply", full, [total, size])
            terms = []
            if d in numbers.start_index_map:
                dims = {"broadcast_dimensions": mlir.i64s(range(len(self.batch)))}
                start = self.column(d)
                terms.append(mlir.value("stablehlo.broadcast_in_dim", full, [start], dims))
            if d in batching:
                terms.append(iota(batching[d]))
            if d in window:
                terms.append(iota(len(self.batch) + window.index(d)))
            for term in terms:
                total = mlir.value("stablehlo.add", full, [total, term])
        return mlir.value("stablehlo.reshape", self.aval(math.prod(head), dtype=INT32), [total])

    def dropped(
        self,
        places: Value,
        given: Value,
        given_aval: ShapedArray,
        table: Value,
        head: tuple[int, ...],
    ) -> tuple[Value, Value]:
        """Places and updates, with those that leave the operand replaced by ones without effect."""
        count, *block = given_aval.shape
        dims = {"broadcast_dimensions": mlir.i64s(range(len(self.batch)))}
        flags = self.aval(*head, dtype=BOOL)
        valid = mlir.value("stablehlo.broadcast_in_dim", flags, [self.valid], dims)
        valid = mlir.value("stablehlo.reshape", self.aval(count, dtype=BOOL), [valid])
        along = {"broadcast_dimensions": mlir.i64s([0])}
        mask_aval = self.aval(count, *block, dtype=BOOL)
        mask = mlir.value("stablehlo.broadcast_in_dim", mask_aval, [valid], along)
        if self.reducer is not None:
            neutral = mlir.constant(
                np.asarray(_neutral(self.reducer, self.dtype)), given_aval.shape
            )
            return places, mlir.value("stablehlo.select", given_aval, [mask, given, neutral])
        # No update leaves an element as it is. So these repeat the last valid update, which stays the
        # last one; if there is none, they write the first row's own elements.
        counts = self.aval(count, dtype=INT32)
        numbers = mlir.value("stablehlo.iota", counts, [], {"iota_dimension": mlir.i64(0)})
        none = mlir.constant(np.int32(-1), counts.shape)
        numbers = mlir.value("stablehlo.select", counts, [valid, numbers, none])
        last = reduce(MAXIMUM, numbers, counts, (0,))
        scalar, zero = self.aval(dtype=INT32), mlir.constant(np.int32(0))
        exists = compare("GE", scalar, last, zero)
        row, place = self.aval(1, *block), self.aval(1, dtype=INT32)
        zeros = [zero] * len(block)
        sizes = {"slice_sizes": mlir.i64s(row.shape)}
        last_row = mlir.value("stablehlo.dynamic_slice", row, [given, last, *zeros], sizes)
        first = mlir.static_slice(table, row, [0] * row.ndim, row.shape)
        update = mlir.value("stablehlo.select", row, [exists, last_row, first])
        sizes = {"slice_sizes": mlir.i64s([1])}
        where = mlir.value("stablehlo.dynamic_slice", place, [places, last], sizes)
        none = mlir.constant(np.int32(0), (1,))
        where = mlir.value("stablehlo.select", place, [exists, where, none])
        where = mlir.broadcast(where, place, counts)
        update = mlir.broadcast(update, row, given_aval)
        return (
            mlir.value("stablehlo.select", counts, [valid, places, where]),
            mlir.value("stablehlo.select", given_aval, [mask, given, update]),
        )

    def scattered(
        self, table: Value, table_aval: ShapedArray, places: Value, count: int, given: Value
    ) -> Value:
        """The table with rows combined into it, one after the other."""
        windows = list(range(1, table_aval.ndim))
        attributes = {
            "scatter_dimension_numbers": mlir.attribute(
                f"#stablehlo.scatter<update_window_dims = {windows}, inserted_window_dims = [0], "
                "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
            ),
            "indices_are_sorted": mlir.boolean(False),
            # Rows that are dropped have the place of another one.
            "unique_indices": mlir.boolean(False),
        }
        places = mlir.value("stablehlo.reshape", self.aval(count, 1, dtype=INT32), [places])
        types = [mlir.type_of(table_aval)]
        found = mlir.op("stablehlo.scatter", types, [table, places, given], attributes, 1)
        reducer = self.reducer
        combine = reducer.body(self.dtype) if reducer else lambda old, new: [new]
        mlir.fill_region(found.regions[0], [mlir.tensor((), self.dtype)] * 2, combine)
        return found.result


def _neutral(reducer: Reducer, dtype: DType) -> Any:
    """An element that leaves every other as it is, -0.0 included."""
    if reducer is SUM and dtype.kind not in "iub":
        return dtype.type(complex(-0.0, -0.0) if dtype.kind == "c" else -0.0)
    return np.asarray(reducer.neutral(dtype)).astype(dtype)


def _transposed(x: Value, aval: ShapedArray, permutation: Sequence[int]) -> Value:
    if list(permutation) == list(range(aval.ndim)):
        return x
    out = ShapedArray([aval.shape[d] for d in permutation], aval.dtype)
    return mlir.value(
        "stablehlo.transpose", out, [x], {"permutation": mlir.i64s(list(permutation))}
    )
