"""Moving and adding one axis, in the core's own primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.core.vocabulary import broadcast_in_dim_p, transpose_p


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """Move one axis; the others keep their order."""
    if source == destination:
        return x
    order = [axis for axis in range(x.ndim) if axis != source]
    order.insert(destination, source)
    return transpose_p.bind(x, permutation=tuple(order))


def broadcast_axis(x: Any, size: int, axis: int, shape: Sequence[int]) -> Any:
    """Repeat ``x`` of shape ``shape`` along a new axis."""
    target = (*shape[:axis], size, *shape[axis:])
    dims = tuple(i for i in range(len(target)) if i != axis)
    return broadcast_in_dim_p.bind(x, shape=target, broadcast_dimensions=dims)
