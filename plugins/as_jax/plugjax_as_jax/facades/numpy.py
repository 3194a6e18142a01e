"""``jax.numpy``: a function that gives another type there than in ``plugjax.numpy``."""

from __future__ import annotations

from typing import Any

from numpy import ndarray as _ndarray

from plugjax.numpy import reshape as _reshape

__all__ = ["reshape"]


def reshape(a: Any, shape: Any, order: Any = "C", **options: Any) -> Any:
    """``a`` with another shape; a NumPy array stays one, also while a program is traced.

    Example:
        >>> import numpy as np
        >>> type(reshape(np.ones((2, 2)), 4)).__name__
        'ndarray'
    """
    if isinstance(a, _ndarray) and options.get("out_sharding") is None:
        found = a.reshape(shape, order=order)
        return found.copy() if options.get("copy") else found
    return _reshape(a, shape, order, **options)
