"""Products of a matrix and a vector, on processors.

With data tiling IREE 3.13 packs the matrix first, and takes six times as long as with a sum of products: so rows that lie side by side with the
vector are multiplied and added up. Rows of which each has one factor are added eight at a time, as in `plugjax_iree.lowering.sums`.
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
from plugjax_iree.lowering.sums import ROWS_AT_A_TIME

# Elements of a matrix, below which a product is fast however it is done.
_SMALL = 1 << 14


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
    return place == matrix.ndim - 1 or (place == 0 and length % ROWS_AT_A_TIME == 0)


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
    rows, count = lax.reshape(matrix, (vector.size, rest)), vector.size // ROWS_AT_A_TIME
    parts = [
        lax.mul(
            lax.slice_in_dim(rows, start, start + count),
            lax.broadcast_in_dim(
                lax.slice_in_dim(vector, start, start + count), (count, rest), (0,)
            ),
        )
        for start in range(0, vector.size, count)
    ]
    # Fused into the reduction, the additions take up to 25 times as long.
    added = lax.optimization_barrier(functools.reduce(lax.add, parts))
    return lax.reduce_sum(added, (0,))
