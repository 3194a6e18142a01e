"""Arrays from slice syntax: ``mgrid``, ``ogrid``, ``r_``, ``c_``; and indices from it: ``s_``, ``index_exp``."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array, Tracer
from plugjax.extend.errors import ConcretizationTypeError
from plugjax.lax.promotion import join
from plugjax.numpy.creation import arange, array
from plugjax.numpy.grids import meshgrid
from plugjax.numpy.joining import concatenate, stack
from plugjax.numpy.manipulation import expand_dims, transpose
from plugjax.numpy.promotion import convert
from plugjax.numpy.ranges import linspace

__all__ = ["c_", "index_exp", "mgrid", "ogrid", "r_", "s_"]


def _range(who: str, key: slice) -> Array:
    """``start:stop:step`` as an array; an imaginary step counts the values, and includes the last."""
    parts = (key.start, key.stop, key.step)
    for part in parts:
        if isinstance(part, Tracer):
            raise ConcretizationTypeError(part, f"{who}: the slice has a traced part.")
    start, stop, step = key.start or 0, key.stop, key.step or 1
    if np.iscomplexobj(step):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


class Grid:
    """``grid[slice, slice, ...]``: coordinate arrays of the grid that ranges span, one per axis."""

    __slots__ = ("_name", "_sparse")

    def __init__(self, name: str, sparse: bool) -> None:
        self._name = name
        self._sparse = sparse

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        if isinstance(key, slice):
            return _range(self._name, key)
        ranges = [_range(self._name, k) for k in key]
        if ranges:
            dtype = join((r.dtype, r.weak_type) for r in ranges)
            weak_type = all(r.weak_type for r in ranges)
            ranges = [convert(r, dtype, weak_type) for r in ranges]
        grids = meshgrid(*ranges, indexing="ij", sparse=self._sparse)
        if self._sparse:
            return grids
        return stack(grids, 0) if grids else arange(0)

    def __repr__(self) -> str:
        return f"jnp.{self._name}"


class Concatenator:
    """``joined[a, b, ...]``: arrays and ranges joined along an axis.

    A leading string sets ``"axis,ndmin,trans1d"``, or is ``"r"`` or ``"c"`` for matrices.
    """

    __slots__ = ("_axis", "_name", "_ndmin", "_trans1d")

    def __init__(self, name: str, axis: int, ndmin: int, trans1d: int) -> None:
        self._name = name
        self._axis = axis
        self._ndmin = ndmin
        self._trans1d = trans1d

    def __getitem__(self, key: Any) -> Array:
        items = key if isinstance(key, tuple) else (key,)
        plan = [self._axis, self._ndmin, self._trans1d]
        matrix_axis = None
        if isinstance(items[0], str):
            directive, items = items[0], items[1:]
            if directive in ("r", "c"):
                matrix_axis = "rc".index(directive)
            else:
                words = directive.split(",")[:3]
                try:
                    plan[: len(words)] = [int(w) for w in words]
                except ValueError:
                    raise ValueError(
                        f"r_ and c_: cannot read the directive {directive!r}; it is 'r', 'c' or up to three integers."
                    ) from None
        axis, ndmin, trans1d = plan
        joined = concatenate([self._part(item, ndmin, trans1d) for item in items], axis)
        if matrix_axis is not None and joined.ndim == 1:
            joined = expand_dims(joined, matrix_axis)
        return joined

    def _part(self, item: Any, ndmin: int, trans1d: int) -> Array:
        if isinstance(item, str):
            raise ValueError("r_ and c_: a directive, the only string, comes first.")
        if isinstance(item, slice):
            part, rank = _range(self._name, item), 0
        else:
            part = array(item, copy=False)
            rank = part.ndim
        if part.ndim < ndmin:
            part = lax.reshape(part, (*(1,) * (ndmin - part.ndim), *part.shape))
        if trans1d != -1 and ndmin > rank:
            # New axes are leading; move back as many as trans1d requires.
            shift = ndmin - abs(ndmin + trans1d + 1) % ndmin
            axes = list(range(ndmin))
            part = transpose(part, axes[shift:] + axes[:shift])
        return part

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"jnp.{self._name}"


mgrid = Grid("mgrid", sparse=False)
ogrid = Grid("ogrid", sparse=True)
r_ = Concatenator("r_", axis=0, ndmin=1, trans1d=-1)
c_ = Concatenator("c_", axis=-1, ndmin=2, trans1d=0)
s_ = np.s_
index_exp = np.index_exp
