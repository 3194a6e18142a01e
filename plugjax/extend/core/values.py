"""Questions about values, by JAX's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.core.array import Array, as_array
from plugjax.core.dtypes import DTypeLike, as_numpy_dtype, tangent_dtype
from plugjax.core.errors import ConcretizationTypeError
from plugjax.core.primitive import Tracer

# Types of arrays and of NumPy scalars that functions of arrays take.
array_types: set[type[Any]] = {Array, np.ndarray, np.generic}


def valid_jaxtype(x: Any) -> bool:
    """Whether functions of arrays take ``x``."""
    try:
        as_array(x)
    except TypeError:
        return False
    return True


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """``force(val)`` of a value that is known.

    Raises:
        ConcretizationTypeError: ``val`` is a tracer without a known value; ``context`` says who asks.
    """
    if isinstance(val, Tracer):
        known = val._concrete()
        if known is None:
            raise ConcretizationTypeError(val, context)
        val = known
    return val if force is None else force(val)


def primal_dtype_to_tangent_dtype(primal_dtype: DTypeLike) -> Any:
    """The dtype of tangents of values of a dtype; ``float0`` where there are none."""
    return tangent_dtype(as_numpy_dtype(primal_dtype))
