"""Rows of gather and the scatters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Primitive
from plugjax.testing.row import Op, Sampler, both, distinct, integers, real

_ROWS = ((1,), (0,), (0,))
_POINTS = ((), (0, 1), (0, 1))
_WINDOWS = ((1, 2), (), (0, 1))
_TOGETHER = ((), (1,), (1,), (0,), (0,))


def _gather(
    name: str,
    numbers: Sequence[tuple[int, ...]],
    sizes: tuple[int, ...],
    oracle: Callable[..., Any],
    sample: Sampler,
    mode: str | None = None,
    fill_value: float | None = None,
) -> Op:
    def call(lax: Any, x: Any, i: Any) -> Any:
        where = lax.GatherDimensionNumbers(*numbers)
        return lax.gather(x, i, where, sizes, mode=mode, fill_value=fill_value)

    return Op(name, lax.gather_p, call, oracle, sample, 2, wrt=(0,))


def _clipped_windows(x: Any, indices: Any) -> Any:
    starts = [np.clip(i, 0, np.array(x.shape) - 2) for i in indices]
    return np.stack([x[a : a + 2, b : b + 2] for a, b in starts])


def _rows_or(fill: float) -> Callable[..., Any]:
    def oracle(x: Any, indices: Any) -> Any:
        i = indices[:, 0]
        inside = (i >= 0) & (i < len(x))
        return np.where(inside[:, None], x[np.where(inside, i, 0)], x.dtype.type(fill))

    return oracle


def _scatter(
    name: str,
    combine: Callable[[Any, Any], Any],
    sample: Sampler,
    order: int = 2,
    mode: str | None = None,
    unique: bool = False,
    wrt: tuple[int, ...] = (0, 2),
    primitive: Primitive | None = None,
) -> Op:
    """Rows of an array combined with rows of updates."""
    function = name.split()[0]

    def call(lax: Any, x: Any, i: Any, updates: Any) -> Any:
        where = lax.ScatterDimensionNumbers(*_ROWS)
        scatter = getattr(lax, function)
        return scatter(x, i, updates, where, mode=mode, unique_indices=unique)

    def oracle(x: Any, indices: Any, updates: Any) -> Any:
        y = x.copy()
        for i, update in zip(indices[:, 0], updates, strict=True):
            if mode == "clip":
                i = min(max(i, 0), len(x) - 1)
            if 0 <= i < len(x):
                y[i] = combine(y[i], update)
        return y

    found = primitive if primitive is not None else getattr(lax, f"{function}_p")
    return Op(name, found, call, oracle, sample, order, wrt=wrt)


_UNIQUE = both(real(0.5, 2, (5, 3)), distinct(7, 4), real(0.5, 2, (4, 3)))
_REPEATED = both(real(0.5, 2, (5, 3)), integers(-1, 6, (4, 1)), real(0.5, 2, (4, 3)))

INDEXING: Sequence[Op] = (
    _gather("gather rows", _ROWS, (1, 3), lambda x, i: x[i[:, 0]],
       both(real(-2, 2, (4, 3)), integers(0, 4, (5, 1)))),
    _gather("gather points", _POINTS, (1, 1), lambda x, i: x[i[:, 0], i[:, 1]],
       both(real(-2, 2, (4, 3)), integers(0, 3, (5, 2)))),
    _gather("gather clip", _WINDOWS, (2, 2), _clipped_windows,
       both(real(-2, 2, (4, 3)), integers(-3, 6, (5, 2))), mode="clip"),
    _gather("gather fill", _ROWS, (1, 3), _rows_or(7),
       both(real(-2, 2, (4, 3)), integers(-3, 7, (6, 1))), mode="fill", fill_value=7.0),
    _gather("gather together", _TOGETHER, (1, 1), lambda x, i: np.take_along_axis(x, i[..., 0], 1),
       both(real(-2, 2, (3, 4)), integers(0, 4, (3, 2, 1)))),
    _scatter("scatter", lambda y, u: u, _UNIQUE, unique=True),
    _scatter("scatter clip", lambda y, u: u,
       both(real(0.5, 2, (5, 3)), distinct(5, 4), real(0.5, 2, (4, 3))), mode="clip"),
    _scatter("scatter_add", np.add, _REPEATED, primitive=lax.scatter_add_p),
    _scatter("scatter_add clip", np.add, _REPEATED, mode="clip", primitive=lax.scatter_add_p),
    _scatter("scatter_sub", np.subtract, _REPEATED, primitive=lax.scatter_sub_p),
    _scatter("scatter_mul", np.multiply, _UNIQUE, unique=True),
    _scatter("scatter_mul repeated", np.multiply, _REPEATED, wrt=(0,)),
    _scatter("scatter_min", np.minimum, _REPEATED, 1),
    _scatter("scatter_max", np.maximum, _REPEATED, 1),
    _scatter("scatter_max clip", np.maximum, _REPEATED, 1, mode="clip"),
)  # fmt: skip
