"""Sums in blocks, and of narrow floats in float32.

IREE 3.13 adds in the order of memory, in the operand's type: the sum of 2**24 numbers 1.1 errs by 0.5 %, and 1024 float16 may be off by a hundredth.
So long sums are done in stages. Each adds up to `LONGEST` elements, or fewer where they do not lie side by side, as then no vector
instruction adds several of them at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import FLOAT32, DType, is_float
from plugjax.stablehlo import mlir
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import SUM, Reducer
from plugjax.stablehlo.reduction import cumulative, reduce
from plugjax_iree.workarounds.copies import opaque
from plugjax_iree.workarounds.switch import is_on

LONGEST = 4096
_LONGEST_APART = 512
_SHORTEST = 16
# Rows that are added at a time, and elements of a table of rows, from which on that is faster than a reduction.
ROWS_AT_A_TIME = 8
_LARGE_TABLE = 1 << 18


def accumulator(dtype: DType) -> DType:
    """The dtype to add and multiply numbers of a dtype in."""
    is_narrow = is_float(dtype) and dtype.itemsize < FLOAT32.itemsize
    return FLOAT32 if is_narrow and is_on("narrow_sums") else dtype


def reduced(reducer: Reducer, x: Value, aval: ShapedArray, axes: Sequence[int]) -> Value:
    """A sum or product over axes."""
    wide = aval.update(dtype=accumulator(aval.dtype))
    x = convert(x, aval, wide.dtype)
    if reducer is SUM and wide.dtype.kind in "fc" and is_on("long_sums"):
        found = _in_stages(x, wide, axes)
    else:
        found = reduce(reducer, x, wide, axes)
    shape = [size for axis, size in enumerate(aval.shape) if axis not in axes]
    return convert(found, ShapedArray(shape, wide.dtype), aval.dtype)


def _in_stages(x: Value, aval: ShapedArray, axes: Sequence[int]) -> Value:
    left = sorted(axes)
    while True:
        side_by_side = bool(left) and left[-1] == aval.ndim - 1 and aval.dtype.kind == "f"
        limit = LONGEST if side_by_side else _LONGEST_APART
        if math.prod(aval.shape[axis] for axis in left) <= limit:
            return reduce(SUM, x, aval, left)
        now: list[int] = []
        while left and math.prod(aval.shape[axis] for axis in (*now, left[-1])) <= limit:
            now.append(left.pop())
        if not now:
            # The axis becomes two, of which this stage adds the second.
            x, aval = split(x, aval, left[-1], limit)
            now = [left[-1] + 1]
        x = reduce(SUM, x, aval, now)
        shape = [size for axis, size in enumerate(aval.shape) if axis not in now]
        aval = ShapedArray(shape, aval.dtype)


def fewer_rows(x: Value, aval: ShapedArray) -> tuple[Value, ShapedArray]:
    """A table whose rows are sums of rows, while it is large: adding slices is five times as fast as IREE's reduction."""
    while aval.shape[0] % ROWS_AT_A_TIME == 0 and aval.size >= _LARGE_TABLE:
        count = aval.shape[0] // ROWS_AT_A_TIME
        part = aval.update(shape=(count, *aval.shape[1:]))
        rest = [0] * (aval.ndim - 1)
        found = mlir.static_slice(x, part, [0, *rest], part.shape)
        for start in range(count, aval.shape[0], count):
            limit = (start + count, *part.shape[1:])
            found = mlir.value(
                "stablehlo.add", part, [found, mlir.static_slice(x, part, [start, *rest], limit)]
            )
        # Fused into the reduction that follows, the additions take up to three times as long.
        x, aval = opaque(found), part
    return x, aval


def split(x: Value, aval: ShapedArray, axis: int, longest: int) -> tuple[Value, ShapedArray]:
    """An axis as two, the second not longer than ``longest``; filled up with zeros if it has no good divisor."""
    size = aval.shape[axis]
    block = next((b for b in range(longest, _SHORTEST - 1, -1) if size % b == 0), 0)
    if not block:
        block = math.isqrt(size - 1) + 1 if size < longest**2 else longest
        x, aval = extended(x, aval, axis, -size % block)
    shape = (*aval.shape[:axis], aval.shape[axis] // block, block, *aval.shape[axis + 1 :])
    result = ShapedArray(shape, aval.dtype)
    return mlir.value("stablehlo.reshape", result, [x]), result


def extended(
    x: Value, aval: ShapedArray, axis: int, after: int, before: int = 0
) -> tuple[Value, ShapedArray]:
    """An axis with zeros at its ends; negative counts remove elements."""
    shape = list(aval.shape)
    shape[axis] += before + after
    result = ShapedArray(shape, aval.dtype)
    low, high, between = [0] * aval.ndim, [0] * aval.ndim, [0] * aval.ndim
    low[axis], high[axis] = before, after
    attributes = {
        "edge_padding_low": mlir.i64s(low),
        "edge_padding_high": mlir.i64s(high),
        "interior_padding": mlir.i64s(between),
    }
    zero = SUM.initial(aval.dtype)
    return mlir.value("stablehlo.pad", result, [x, zero], attributes), result


def cumulative_sum(x: Value, aval: ShapedArray, *, axis: int, reverse: bool) -> Value:
    """Sums of each element and those before it; after it if ``reverse``."""
    size = aval.shape[axis]
    if size <= _LONGEST_APART or aval.dtype.kind not in "fc" or not is_on("long_sums"):
        return cumulative(SUM, x, aval, axis=axis, reverse=reverse)
    block = math.isqrt(size - 1) + 1
    x, filled = extended(x, aval, axis, -size % block)
    shape = (*aval.shape[:axis], filled.shape[axis] // block, block, *aval.shape[axis + 1 :])
    table = ShapedArray(shape, aval.dtype)
    x = mlir.value("stablehlo.reshape", table, [x])
    x = cumulative(SUM, x, table, axis=axis + 1, reverse=reverse)
    # The cumulative sums of whole blocks are the offsets of the blocks.
    last = 0 if reverse else block - 1
    start, limit = [0] * table.ndim, list(table.shape)
    start[axis + 1], limit[axis + 1] = last, last + 1
    ends = ShapedArray((*shape[: axis + 1], 1, *shape[axis + 2 :]), aval.dtype)
    totals = cumulative_sum(
        mlir.static_slice(x, ends, start, limit), ends, axis=axis, reverse=reverse
    )
    shift = 1 if reverse else -1
    totals, _ = extended(totals, ends, axis, shift, -shift)
    offsets = mlir.broadcast(totals, ends, table)
    x = mlir.value("stablehlo.add", table, [x, offsets])
    x = mlir.value("stablehlo.reshape", filled, [x])
    return x if filled == aval else mlir.static_slice(x, aval, [0] * aval.ndim, aval.shape)


def cumulative_by_doubling(
    reducer: Reducer, x: Value, aval: ShapedArray, *, axis: int, reverse: bool
) -> Value:
    """Reduce each element with all before it, or with all after it: with its neighbour, then with that at a distance of 2, 4, ...

    Reference:
        W. D. Hillis and G. L. Steele, "Data parallel algorithms", Communications of the ACM 29 (1986).
    """
    size, distance = aval.shape[axis], 1
    neutral = np.asarray(reducer.neutral(aval.dtype), aval.dtype)
    start, limit = [0] * aval.ndim, list(aval.shape)
    while distance < size:
        ends, kept = _resized(aval, axis, distance), _resized(aval, axis, size - distance)
        start[axis], limit[axis] = (distance, size) if reverse else (0, size - distance)
        parts = [mlir.constant(neutral, ends.shape), mlir.static_slice(x, kept, start, limit)]
        moved = mlir.value(
            "stablehlo.concatenate",
            aval,
            parts[::-1] if reverse else parts,
            {"dimension": mlir.i64(axis)},
        )
        (x,) = reducer.body(aval.dtype)(x, moved)
        distance *= 2
    return x


def _resized(aval: ShapedArray, axis: int, size: int) -> ShapedArray:
    """A type with another size of an axis."""
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis + 1 :]))
