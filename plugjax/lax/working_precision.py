"""Elementwise programs that need at least float32: series and fractions lose too many digits below it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from plugjax.extend.core import aval_of, broadcast_in_dim_p
from plugjax.extend.dtypes import DType
from plugjax.lax.families import broadcast_shapes_strict, convert

FLOAT32 = np.dtype(np.float32)


def working_dtype(dtype: DType) -> DType:
    """The dtype to compute in: ``dtype`` itself, or float32 if it is narrower."""
    return dtype if dtype.itemsize >= 4 else FLOAT32


def in_working_precision(program: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the program gets operands of one shape, in float32 or float64; the result has their own dtype."""

    @wraps(program)
    def run(*operands: Any) -> Any:
        avals = [aval_of(x) for x in operands]
        dtype = avals[0].dtype
        shape = broadcast_shapes_strict(program.__name__, avals)
        wide = working_dtype(dtype)
        return convert(program(*(_widened(x, shape, wide) for x in operands)), dtype)

    return run


def _widened(x: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    aval = aval_of(x)
    x = convert(x, dtype)
    if aval.shape == shape:
        return x
    dims = tuple(range(len(shape))) if aval.shape else ()
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=dims)
