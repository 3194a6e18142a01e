"""Shape, size and number of axes of anything array-like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plugjax.core.array import aval_of
from plugjax.numpy.manipulation import canonical_axes
from plugjax.numpy.promotion import ArrayLike, check_arraylike

__all__ = ["ndim", "shape", "size"]


def _shape(who: str, a: Any) -> tuple[int, ...]:
    found = getattr(a, "shape", None)
    if isinstance(found, tuple):
        return found
    check_arraylike(who, a)
    return aval_of(a).shape


def shape(a: ArrayLike) -> tuple[int, ...]:
    """Sizes of the axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.shape(jnp.ones((2, 3)))
        (2, 3)
    """
    return _shape("shape", a)


def ndim(a: ArrayLike) -> int:
    """Number of axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ndim(jnp.ones((2, 3)))
        2
    """
    return len(_shape("ndim", a))


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """Number of elements, along axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.size(jnp.ones((2, 3)))
        6
    """
    sizes = _shape("size", a)
    if axis is None:
        return math.prod(sizes)
    return math.prod(sizes[i] for i in canonical_axes(axis, len(sizes)))
