"""Numbers as operands: their types tell their avals, and how they become scalars of another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.core.aval import ShapedArray

# Python's numbers have no dtype that they would be rounded to first. Its integers have: the default width.
_ROUNDED_ONCE = (bool, float, complex)

# Types of which every number has one aval.
NUMBERS = frozenset((bool, int, float, complex)) | {
    np.dtype(name).type
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}

Conversion = Callable[[Any], Any]


def conversion(kind: type, aval: ShapedArray, dtype: Any) -> Conversion:
    """From a number of a type to a NumPy scalar.

    The conversion raises OverflowError for an integer that does not fit.

    Args:
        kind: type of the number.
        aval: its aval.
        dtype: of the scalar.
    """
    last: Conversion = dtype.type
    if kind in _ROUNDED_ONCE or aval.dtype == dtype:
        return last
    first: Conversion = aval.dtype.type
    return lambda number: last(first(number))
