"""Products of a matrix and a vector, on processors.

With data tiling IREE 3.13 packs the matrix first, and takes six times as long as with a sum of products: so rows that lie side by side with the
vector are multiplied and added up. Rows of which each has one factor are added in blocks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from plugjax import lax
from plugjax.extend.core import ClosedJaxpr, ShapedArray
from plugjax.extend.dtypes import FLOAT32
from plugjax.extend.transforms import stage
from plugjax.lax.dot import CanonicalNumbers

# Elements of a matrix, below which a product is fast however it is done.
_SMALL = 1 << 14
# Rows that are added one after the other: more are not added as accurately, and fewer are not worth a block.
_BLOCK, _SHORTEST = 512, 64
# Kernels that a number of rows without a divisor is divided into, each of one block; with more rows, into one of many blocks and a rest.
_MOST_SLICES = 8
# Columns that are computed together, and the fewest: a vector of the processor.
_TOGETHER, _FEWEST = 32, 8


def suits(lhs: ShapedArray, rhs: ShapedArray, numbers: CanonicalNumbers) -> bool:
    """Whether a product is one of a large matrix and a vector."""
    contracted, batch = numbers
    if any(batch) or len(contracted[0]) != 1 or not lhs.dtype == rhs.dtype == FLOAT32:
        return False
    sizes = [lhs.size, rhs.size]
    (axis,), length = contracted[0], min(sizes)
    if max(sizes) < _SMALL or length != lhs.shape[axis] or length == max(sizes):
        return False
    matrix, (place,) = (lhs, contracted[0]) if lhs.size > rhs.size else (rhs, contracted[1])
    return place in (0, matrix.ndim - 1)


@functools.cache
def program(
    lhs: ShapedArray, rhs: ShapedArray, axes: tuple[Sequence[int], Sequence[int]], out: ShapedArray
) -> ClosedJaxpr:
    """The product as a program of both."""
    (lhs_axis,), (rhs_axis,) = axes

    def run(x: Any, y: Any) -> list[Any]:
        matrix, vector, axis = (x, y, lhs_axis) if lhs.size > rhs.size else (y, x, rhs_axis)
        return [lax.reshape(_product(matrix, lax.reshape(vector, (vector.size,)), axis), out.shape)]

    return stage(run, [lhs, rhs], "product")


def _product(matrix: Any, vector: Any, axis: int) -> Any:
    rest = math.prod(matrix.shape) // vector.size
    if axis:
        rows = lax.reshape(matrix, (rest, vector.size))
        return lax.reduce_sum(lax.mul(rows, lax.broadcast_in_dim(vector, rows.shape, (1,))), (1,))
    return _added_rows(lax.reshape(matrix, (vector.size, rest)), vector)


def _added_rows(rows: Any, vector: Any) -> Any:
    """The sum of rows with a factor each."""
    count, width = rows.shape
    length = _block(count)
    if not length:
        # Each slice becomes a part of the kernel that reads it.
        step = _BLOCK if count <= _MOST_SLICES * _BLOCK else count - count % _BLOCK
        parts = [
            _added_rows(rows[start : start + step], vector[start : start + step])
            for start in range(0, count, step)
        ]
        return functools.reduce(lax.add, parts)
    blocks = lax.reshape(rows, (count // length, length, width))
    factors = lax.reshape(vector, blocks.shape[:2])
    odd = width % _TOGETHER
    whole = width - odd if odd % _FEWEST else width
    parts = [
        _added(blocks[:, :, start:stop], factors)
        for start, stop in ((0, whole), (whole, width))
        if start < stop
    ]
    return lax.concatenate(parts, 0) if len(parts) > 1 else parts[0]


def _added(blocks: Any, factors: Any) -> Any:
    products = lax.mul(blocks, lax.broadcast_in_dim(factors, blocks.shape, (0, 1)))
    # A kernel of its own, which `plugjax_iree.workarounds.streamed_products` knows.
    added = lax.optimization_barrier(lax.reduce_sum(products, (1,)))
    return lax.reduce_sum(added, (0,))


def _block(count: int) -> int:
    """The length of blocks that a number of rows is divided into; 0 if it is not divided well."""
    lengths = range(_BLOCK, _SHORTEST - 1, -_FEWEST)
    return count if count <= _BLOCK else next((n for n in lengths if count % n == 0), 0)
