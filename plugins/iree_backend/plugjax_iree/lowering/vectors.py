"""Products of a matrix and a vector, on processors.

With data tiling IREE 3.13 packs the matrix first, which takes ten times as long as the product, and where the rows of the matrix are added it
reads them one after the other. So rows that lie side by side with the vector are multiplied and added up, and other rows are added in
groups.
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
# Rows that are added at a time.
_GROUP = 8


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
    return place == matrix.ndim - 1 or (place == 0 and length % _GROUP == 0)


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
    rows = lax.reshape(matrix, (vector.size // _GROUP, _GROUP, rest))
    factors = lax.reshape(vector, rows.shape[:2])
    parts = lax.reduce_sum(lax.mul(rows, lax.broadcast_in_dim(factors, rows.shape, (0, 1))), (1,))
    # One sum over all would again go row by row.
    return lax.reduce_sum(lax.optimization_barrier(parts), (0,))
