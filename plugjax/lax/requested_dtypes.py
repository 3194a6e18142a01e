"""Dtypes that users ask for by ``dtype=``, and what is said to them if they get another one or lose a part of the values."""

from __future__ import annotations

import sys
import warnings

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import is_internal
from plugjax.extend.dtypes import DType, DTypeLike


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn in the user's line: that of the innermost frame outside of the framework."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and is_internal(frame.f_code):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


_PYTHON = (bool, int, float, complex)


def canonical_dtype(who: str, dtype: DTypeLike) -> DType:
    """A ``dtype=`` argument as an available dtype: 64-bit ones are narrowed, with a warning, unless x64 is on.

    Raises:
        TypeError: not a dtype of arrays.
        ValueError: an array in place of its dtype.
    """
    if dtype is None:
        return dtypes.canonicalize(float)
    found = dtypes.canonicalize(dtype, who)
    if isinstance(dtype, (str, np.dtype, type)) and dtype not in _PYTHON:
        given = dtypes.as_numpy_dtype(dtype)
        if given.itemsize > found.itemsize:
            warn_caller(
                f"Explicitly requested dtype {given.name} requested in {who} is not available: it becomes {found.name}, because "
                "64-bit numbers are off. Turn them on with jax_enable_x64.",
            )
    return found
