"""Sampling of arrays between their elements: the names of ``jax.scipy.ndimage``.

A coordinate lies between two elements of its axis, which share it by distance (or it takes the nearer one). The value
at a point is the sum over the corners of its cell, weighted by the products of shares.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike

__all__ = ["map_coordinates"]

# Integer indices, and the weight of each.
Shares: TypeAlias = list[tuple[Any, Any]]


def _mirror(index: Any, size: int) -> Any:
    last = size - 1
    return abs((index + last) % (2 * last) - last) if last else 0 * index


def _reflect(index: Any, size: int) -> Any:
    # The edge between two equal elements is a mirror at half steps.
    return (_mirror(2 * index + 1, 2 * size + 1) - 1) // 2


def _clamped(index: Any, size: int) -> Any:
    return jnp.clip(index, 0, size - 1)


_OUTSIDE: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "nearest": _clamped,
    "wrap": lambda index, size: index % size,
    "mirror": _mirror,
    "reflect": _reflect,
}


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """Values of an array between its elements.

    Args:
        input: the array.
        coordinates: for each of its axes, an array of positions; they broadcast together.
        order: 0 for the nearest value, 1 for linear interpolation.
        mode: values outside: ``"constant"`` (``cval``), ``"nearest"``, ``"wrap"``, ``"mirror"`` (the edge is not
            repeated), or ``"reflect"`` (it is).
        cval: the value outside, in mode ``"constant"``.

    Returns:
        Values, in the dtype of ``input``: integers are rounded.

    Raises:
        ValueError: another number of coordinate arrays than of axes.
        NotImplementedError: another mode or order.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.ndimage import map_coordinates
        >>> map_coordinates(jnp.array([1.0, 3.0, 7.0]), [jnp.array([0.5, 2.0])], order=1)
        Array([2., 7.], dtype=float32)
    """
    x = jnp.asarray(input)
    at = [jnp.asarray(c) for c in coordinates]
    if len(at) != x.ndim:
        raise ValueError(
            f"map_coordinates needs an array of coordinates for each axis, got {len(at)} for {x.ndim} axes."
        )
    if mode not in _OUTSIDE:
        raise NotImplementedError(
            f"map_coordinates has no mode {mode!r}. There are: {sorted(_OUTSIDE)}."
        )
    if order not in (0, 1):
        raise NotImplementedError("map_coordinates has orders 0 and 1 only.")
    shares = _nearest if order == 0 else _linear
    outside = jnp.asarray(cval, x.dtype)
    total: Any = None
    for corner in itertools.product(*(shares(c) for c in at)):
        places = [_OUTSIDE[mode](i, n) for (i, _), n in zip(corner, x.shape, strict=True)]
        value = x[tuple(places)]
        if mode == "constant":
            inside = [(i >= 0) & (i < n) for (i, _), n in zip(corner, x.shape, strict=True)]
            value = jnp.where(reduce(operator.and_, inside), value, outside)
        weight = reduce(operator.mul, (w for _, w in corner))
        total = weight * value if total is None else total + weight * value
    result: Array = _rounded(total) if x.dtype.kind in "iu" else total
    return result.astype(x.dtype)


def _rounded(x: Any) -> Any:
    return x if x.dtype.kind in "iu" else lax.round(x)


def _nearest(coordinate: Any) -> Shares:
    return [(_rounded(coordinate).astype(np.int32), coordinate.dtype.type(1))]


def _linear(coordinate: Any) -> Shares:
    below = jnp.floor(coordinate)
    share = coordinate - below
    index = below.astype(np.int32)
    return [(index, 1 - share), (index + 1, share)]


publish(globals(), __all__)
