"""Interpolation on grids: the names of ``jax.scipy.interpolate``.

A point lies in a cell of the grid, at a fraction of the cell along each axis. Linear interpolation weights the corners
of the cell by products of these fractions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax.extend import pytree
from plugjax.extend.core import Array
from plugjax.extend.transforms import publish
from plugjax.numpy.promotion import ArrayLike, Operand, as_operand, check_arraylike, to_inexact

__all__ = ["RegularGridInterpolator"]

_METHODS = ("linear", "nearest")


def _checked(method: str) -> str:
    if method not in _METHODS:
        raise ValueError(f"method {method!r} is not defined: there are {', '.join(_METHODS)}")
    return method


class RegularGridInterpolator:
    """A function given by its values on a rectangular grid. It is a pytree.

    Args:
        points: for each axis of the grid its coordinates, which increase.
        values: values on the grid; they may have further axes.
        method: ``"linear"`` or ``"nearest"``.
        bounds_error: only ``False``.
        fill_value: the value outside of the grid; ``None`` to extrapolate.

    Raises:
        ValueError: an unknown method, more axes than the values have, or a fill value that the values' dtype cannot hold.
        NotImplementedError: ``bounds_error`` is set.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.interpolate import RegularGridInterpolator
        >>> x, y = jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 1.0])
        >>> f = RegularGridInterpolator((x, y), x[:, None] + 10 * y)
        >>> f(jnp.array([[0.5, 0.5], [2.0, 0.25]]))
        Array([5.5, 4.5], dtype=float32)
    """

    grid: tuple[Any, ...]
    values: Any
    fill_value: Any
    method: str
    bounds_error: bool

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: ArrayLike | None = np.nan,
    ) -> None:
        self.method = _checked(method)
        if bounds_error:
            raise NotImplementedError(
                "RegularGridInterpolator: bounds_error=True needs to look at values, which jit cannot. Leave it False."
            )
        self.bounds_error = bounds_error
        self.values = to_inexact("RegularGridInterpolator", values)
        if len(points) > self.values.ndim:
            raise ValueError(
                f"RegularGridInterpolator: {len(points)} arrays of points are too many for values of rank {self.values.ndim}."
            )
        if fill_value is not None:
            fill_value = as_operand("RegularGridInterpolator", fill_value)
            if fill_value.dtype.kind == "c" and self.values.dtype.kind != "c":
                raise ValueError(
                    f"RegularGridInterpolator: fill_value needs to fit {self.values.dtype.name}, the dtype of values, or be None."
                )
        self.fill_value = fill_value
        check_arraylike("RegularGridInterpolator", *points)
        self.grid = tuple(jnp.asarray(p) for p in points)

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """Values at points.

        Args:
            xi: ``[..., d]`` for a grid of ``d`` axes, or a tuple of ``d`` arrays of coordinates that broadcast
                together.
            method: method in place of the interpolator's.

        Raises:
            ValueError: an unknown method, or points with another number of coordinates.
        """
        method = self.method if method is None else _checked(method)
        rank = len(self.grid)
        points = _points(xi, rank)
        if points.shape[-1] != rank:
            raise ValueError(
                f"RegularGridInterpolator: each point needs as many coordinates as the grid has axes, got "
                f"{points.shape[-1]} for {rank}."
            )
        at = [points[..., i] for i in range(rank)]
        cells = [_cell(x, g) for x, g in zip(at, self.grid, strict=True)]
        deeper = (None,) * (self.values.ndim - rank)
        if method == "linear":
            found = self._linear(cells, deeper)
        else:
            found = self.values[tuple(jnp.where(share <= 0.5, i, i + 1) for i, share in cells)]
        if self.fill_value is None:
            return found
        outside = jnp.zeros(points.shape[:-1], bool)
        for x, g in zip(at, self.grid, strict=True):
            outside |= (x < g[0]) | (x > g[-1])
        return jnp.where(outside[(..., *deeper)], self.fill_value, found)

    def _linear(self, cells: Sequence[tuple[Any, Any]], deeper: tuple[None, ...]) -> Any:
        total: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight: Any = 1.0
            for up, (_, share) in zip(corner, cells, strict=True):
                weight = weight * (share if up else 1 - share)
            places = tuple(i + up for up, (i, _) in zip(corner, cells, strict=True))
            total = total + self.values[places] * weight[(..., *deeper)]
        return total


def _points(xi: Any, rank: int) -> Operand:
    """Points as an array ``[..., coordinates]``."""
    if isinstance(xi, tuple) and len(xi) == 1:
        (xi,) = xi
    if isinstance(xi, tuple):
        return jnp.stack([x.astype(float) for x in jnp.broadcast_arrays(*xi)], -1)
    points = as_operand("RegularGridInterpolator", xi)
    return points.reshape(-1, rank) if points.ndim == 1 else points


def _cell(x: Operand, grid: Operand) -> tuple[Any, Any]:
    """Index of the grid point below each coordinate, and the fraction of the cell."""
    i = jnp.clip(jnp.searchsorted(grid, x) - 1, 0, max(grid.size - 2, 0))
    return i, (x - grid[i]) / (grid[i + 1] - grid[i])


def _flatten(f: RegularGridInterpolator) -> tuple[tuple[Any, ...], tuple[str, bool]]:
    return (f.grid, f.values, f.fill_value), (f.method, f.bounds_error)


def _unflatten(options: tuple[str, bool], children: Iterable[Any]) -> RegularGridInterpolator:
    # Accept any leaf: transformations put other objects into a tree's leaves.
    found = object.__new__(RegularGridInterpolator)
    found.grid, found.values, found.fill_value = children
    found.method, found.bounds_error = options
    return found


pytree.register(RegularGridInterpolator, _flatten, _unflatten)

publish(globals(), __all__)
