"""Rows and columns at a computed index, and masks of what is on either side of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import aval_of
from plugjax.lax.broadcasting import broadcast_shapes
from plugjax.lax.linalg.matrices import identity
from plugjax.lax.selection import select_n
from plugjax.lax.shape import broadcast_in_dim, broadcasted_iota, full, iota
from plugjax.lax.slicing import dynamic_slice_in_dim


def numbers(count: int) -> Any:
    """``0 ... count - 1``, int32."""
    return iota(np.int32, count)


def row(x: Any, place: Any) -> Any:
    """Row ``place`` as ``[1, n]``."""
    return dynamic_slice_in_dim(x, place, 1, axis=0)


def column(x: Any, place: Any) -> Any:
    """Column ``place`` as ``[m, 1]``."""
    return dynamic_slice_in_dim(x, place, 1, axis=1)


def where(which: Any, x: Any, y: Any) -> Any:
    """``x`` where ``which`` holds, else ``y``; axes of size 1 stretch."""
    shape = broadcast_shapes(*(aval_of(v).shape for v in (which, x, y)))
    which, x, y = (stretched(v, shape) for v in (which, x, y))
    return select_n(which, y, x)


def stretched(x: Any, shape: tuple[int, ...]) -> Any:
    """``x`` broadcast to a shape."""
    own = aval_of(x).shape
    if own == shape:
        return x
    return broadcast_in_dim(x, shape, range(len(shape) - len(own), len(shape)))


def zeros_like(x: Any) -> Any:
    """Zeros of the shape and dtype of ``x``."""
    aval = aval_of(x)
    return full(aval.shape, aval.dtype.type(0), aval.dtype)


def row_numbers(x: Any) -> Any:
    """The number of each row, as ``[m, 1]``."""
    return broadcasted_iota(np.int32, (aval_of(x).shape[0], 1), 0)


def column_numbers(x: Any) -> Any:
    """The number of each column, as ``[1, n]``."""
    return broadcasted_iota(np.int32, (1, aval_of(x).shape[1]), 1)


def one(x: Any, rows: int, columns: int | None = None) -> Any:
    """The identity, of the dtype of ``x``."""
    return identity(aval_of(x).dtype, rows, columns)
