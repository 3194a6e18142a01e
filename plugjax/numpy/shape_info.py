"""Shape, size and number of axes of anything array-like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import aval_of
from plugjax.numpy.manipulation import canonical_axes
from plugjax.numpy.promotion import ArrayLike

__all__ = ["ndim", "shape", "size"]


def _shape(a: Any) -> tuple[int, ...]:
    found = getattr(a, "shape", None)
    if isinstance(found, tuple):
        return found
    if hasattr(a, "__jax_array__"):
        return aval_of(a).shape
    # Of any object, as in NumPy: a list has the shape of its array, an object none.
    return np.shape(a)


def shape(a: ArrayLike) -> tuple[int, ...]:
    """Sizes of the axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.shape(jnp.ones((2, 3)))
        (2, 3)
    """
    return _shape(a)


def ndim(a: ArrayLike) -> int:
    """Number of axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ndim(jnp.ones((2, 3)))
        2
    """
    return len(_shape(a))


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """Number of elements, along axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.size(jnp.ones((2, 3)))
        6
    """
    sizes = _shape(a)
    if axis is None:
        return math.prod(sizes)
    return math.prod(sizes[i] for i in canonical_axes(axis, len(sizes)))
