"""Rows of the primitives that rearrange elements, slice, and sort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import broadcast_in_dim_p, reshape_p, transpose_p
from plugjax.testing.row import Op, both, integers, real


def _window(x: Any, starts: Sequence[int], sizes: Sequence[int]) -> tuple[slice, ...]:
    """The window of a dynamic slice: negative starts count from the end, then windows are clamped."""
    found = []
    for start, size, extent in zip(starts, sizes, x.shape, strict=True):
        start = int(start) + (extent if start < 0 else 0)
        start = min(max(start, 0), extent - size)
        found.append(slice(start, start + size))
    return tuple(found)


def _updated(x: Any, update: Any, *starts: int) -> Any:
    y = x.copy()
    y[_window(x, starts, update.shape)] = update
    return y


def _padded(x: Any, value: Any, config: Sequence[tuple[int, int, int]]) -> Any:
    """Interior padding, then edges; negative edges cut off."""
    for axis, (low, high, interior) in enumerate(config):
        x = np.moveaxis(x, axis, 0)
        spread = np.full((len(x) + max(len(x) - 1, 0) * interior, *x.shape[1:]), value, x.dtype)
        spread[:: interior + 1] = x
        edges = [np.full((max(n, 0), *x.shape[1:]), value, x.dtype) for n in (low, high)]
        whole = np.concatenate([edges[0], spread, edges[1]])
        x = np.moveaxis(whole[max(-low, 0) : len(whole) - max(-high, 0)], 0, axis)
    return x


def _pad(name: str, *config: tuple[int, int, int]) -> Op:
    return Op(
        name,
        lax.pad_p,
        lambda lax, x, value: lax.pad(x, value, config),
        lambda x, value: _padded(x, value, config),
        real(-2, 2, (3, 4), ()),
        2,
    )


def _sorted_together(*xs: Any) -> list[Any]:
    """Sorted by the first operand, then by the second; stable."""
    order = np.lexsort((xs[1], xs[0]), 1)
    return [np.take_along_axis(x, order, 1) for x in xs]


def _top_three(x: Any) -> list[Any]:
    order = np.argsort(-x, axis=1, kind="stable")[:, :3]
    return [np.take_along_axis(x, order, 1), order]


STRUCTURAL: Sequence[Op] = (
    Op("reshape", reshape_p, lambda lax, x: lax.reshape(x, (2, 6)), lambda x: x.reshape(2, 6),
       real(-2, 2), 2),
    Op("reshape in another order", reshape_p, lambda lax, x: lax.reshape(x, (12,), (1, 0)),
       lambda x: x.T.reshape(12), real(-2, 2), 2),
    Op("broadcast_in_dim", broadcast_in_dim_p,
       lambda lax, x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)),
       lambda x: np.broadcast_to(x, (2, 3, 4)), real(-2, 2), 2),
    Op("broadcast_in_dim stretched", broadcast_in_dim_p,
       lambda lax, x: lax.broadcast_in_dim(x, (2, 3, 4), (0, 2)),
       lambda x: np.broadcast_to(x[:, None], (2, 3, 4)), real(-2, 2, (2, 1)), 2),
    Op("transpose", transpose_p, lambda lax, x: lax.transpose(x, (2, 0, 1)),
       lambda x: x.transpose(2, 0, 1), real(-2, 2, (2, 3, 4)), 2),
    Op("squeeze", lax.squeeze_p, lambda lax, x: lax.squeeze(x, (0, 2)), lambda x: x[0, :, 0],
       real(-2, 2, (1, 3, 1, 2)), 2),
    Op("rev", lax.rev_p, lambda lax, x: lax.rev(x, (0, 2)), lambda x: x[::-1, :, ::-1],
       real(-2, 2, (2, 3, 4)), 2),
    Op("concatenate", lax.concatenate_p, lambda lax, *xs: lax.concatenate(xs, 1),
       lambda *xs: np.concatenate(xs, 1), real(-2, 2, (3, 2), (3, 1), (3, 3)), 2),
    Op("stack", lax.stack_p, lambda lax, *xs: lax.stack(xs, 1), lambda *xs: np.stack(xs, 1),
       real(-2, 2, (3, 2), (3, 2), (3, 2)), 2),
    Op("unstack", lax.unstack_p, lambda lax, x: lax.unstack(x, 1), lambda x: list(x.T),
       real(-2, 2, (3, 4)), 2),
    Op("tile", lax.tile_p, lambda lax, x: lax.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)),
       real(-2, 2, (2, 3, 2)), 2),
    _pad("pad", (1, 2, 0), (0, 1, 0)),
    _pad("pad interior", (0, 1, 2), (2, 0, 1)),
    _pad("pad negative", (-1, 0, 0), (1, -2, 0)),
    _pad("pad negative and interior", (-1, 2, 1), (1, -2, 2)),
    Op("iota", lax.iota_p, lambda lax: lax.iota(np.int32, 5), lambda: np.arange(5), lambda rng: ()),
    Op("iota along an axis", lax.iota_p, lambda lax: lax.broadcasted_iota(np.float32, (3, 4), 1),
       lambda: np.tile(np.arange(4.0), (3, 1)), lambda rng: ()),
    Op("split", lax.split_p, lambda lax, x: lax.split(x, (1, 3), 1), lambda x: [x[:, :1], x[:, 1:]],
       real(-2, 2), 2),
    Op("slice", lax.slice_p, lambda lax, x: lax.slice(x, (1, 2), (3, 6)), lambda x: x[1:3, 2:6],
       real(-2, 2, (4, 6)), 2),
    Op("slice with strides", lax.slice_p, lambda lax, x: lax.slice(x, (1, 0), (4, 6), (2, 4)),
       lambda x: x[1:4:2, 0:6:4], real(-2, 2, (4, 6)), 2),
    Op("dynamic_slice", lax.dynamic_slice_p,
       lambda lax, x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
       lambda x, i, j: x[_window(x, (i, j), (2, 3))],
       both(real(-2, 2, (4, 6)), integers(-5, 7, (), ())), 2),
    Op("dynamic_update_slice", lax.dynamic_update_slice_p,
       lambda lax, x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)), _updated,
       both(real(-2, 2, (4, 6), (2, 3)), integers(-5, 7, (), ())), 2),
    Op("sort", lax.sort_p, lambda lax, x: lax.sort(x, 0), lambda x: np.sort(x, 0),
       real(-2, 2, (5, 3)), 2),
    Op("sort together", lax.sort_p, lambda lax, *xs: lax.sort(xs, 1, num_keys=2), _sorted_together,
       both(real(0, 3, (3, 7)), real(-2, 2, (3, 7), (3, 7))), 2),
    Op("sort with ties", lax.sort_p, lambda lax, *xs: lax.sort(xs, 1, num_keys=2), _sorted_together,
       both(integers(0, 3, (3, 7)), integers(0, 3, (3, 7)), real(-2, 2, (3, 7))), 2),
    Op("top_k", lax.top_k_p, lambda lax, x: lax.top_k(x, 3), _top_three, real(-2, 2, (4, 6)), 2),
    Op("approx_top_k", lax.approx_top_k_p, lambda lax, x: lax.approx_max_k(x, 3), _top_three,
       real(-2, 2, (4, 6)), 2),
    Op("top_k with ties", lax.top_k_p, lambda lax, x: lax.top_k(x, 3), _top_three,
       integers(0, 3, (4, 6))),
)  # fmt: skip
