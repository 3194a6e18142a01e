"""Numbers as operands: their types tell their avals, and how they become scalars of another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.core.aval import ShapedArray
from plugjax.core.dtypes import INT32_MAX, INT32_MIN, takes_wide_integers

_PYTHON = (bool, int, float, complex)

# Types of which every number has one aval.
NUMBERS = frozenset(_PYTHON) | {
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
    if kind is int and takes_wide_integers(dtype):
        # Python's integers have the default width, though a float takes any of them.
        return lambda number: last(_of_default_width(number))
    if kind in _PYTHON or aval.dtype == dtype:
        return last
    first: Conversion = aval.dtype.type
    return lambda number: last(first(number))


def _of_default_width(number: int) -> int:
    if not INT32_MIN <= number <= INT32_MAX:
        raise OverflowError
    return number
