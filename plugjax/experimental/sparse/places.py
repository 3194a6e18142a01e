"""Rows at computed positions, read and added to: what sparse operations are made of.

Batch axes come first, and are of equal size in all operands. Positions out of bounds read zero, and nothing is added there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax import lax, numpy as jnp, vmap
from plugjax.extend.core import aval_of


def gather_rows(operand: Any, index: Any, n_batch: int = 0, unique: bool = False) -> Any:
    """Blocks of an array.

    Args:
        operand: ``[batch..., s1 ... sk, block...]``.
        index: ``[batch..., rows..., k]``.
        n_batch: number of batch axes.
        unique: promise that no row is read twice.

    Returns:
        ``[batch..., rows..., block...]``.
    """
    shape, where = aval_of(operand).shape, aval_of(index).shape
    k, rows = where[-1], len(where) - 1
    block = shape[n_batch + k :]
    if not k:
        lead = (*where[:n_batch], *where[n_batch:-1], *block)
        axes = (*range(n_batch), *range(rows, rows + len(block)))
        return lax.broadcast_in_dim(operand, lead, axes)
    batch = tuple(range(n_batch))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(rows, rows + len(block))),
        collapsed_slice_dims=tuple(range(n_batch, n_batch + k)),
        start_index_map=tuple(range(n_batch, n_batch + k)),
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
    )
    sizes = (*(1,) * (n_batch + k), *block)
    if 0 in shape:
        return jnp.zeros((*where[:-1], *block), aval_of(operand).dtype)
    return lax.gather(
        operand, index, numbers, sizes, mode="fill", fill_value=0, unique_indices=unique
    )


def add_rows(operand: Any, index: Any, updates: Any, n_batch: int = 0) -> Any:
    """An array with blocks added.

    Args:
        operand: ``[batch..., s1 ... sk, block...]``.
        index: ``[batch..., rows..., k]``.
        updates: ``[batch..., rows..., block...]``.
        n_batch: number of batch axes.
    """
    return _scatter(lax.scatter_add, operand, index, updates, n_batch)


def set_rows(operand: Any, index: Any, updates: Any, n_batch: int = 0) -> Any:
    """An array with blocks replaced; see :func:`add_rows`."""
    return _scatter(lax.scatter, operand, index, updates, n_batch)


def _scatter(scatter: Callable[..., Any], operand: Any, index: Any, updates: Any, n: int) -> Any:
    where = aval_of(index).shape
    k, rows = where[-1], len(where) - 1
    if not k:
        total = lax.reduce_sum(updates, tuple(range(n, rows)))
        return lax.add(operand, total)
    if 0 in aval_of(operand).shape or 0 in aval_of(updates).shape:
        return operand
    batch = tuple(range(n))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(rows, aval_of(updates).ndim)),
        inserted_window_dims=tuple(range(n, n + k)),
        scatter_dims_to_operand_dims=tuple(range(n, n + k)),
        operand_batching_dims=batch,
        scatter_indices_batching_dims=batch,
    )
    return scatter(operand, index, updates, numbers, mode="drop")


def with_batch(x: Any, batch: Sequence[int]) -> Any:
    """``x`` with its first axes, which have these sizes or 1, of these sizes."""
    shape = aval_of(x).shape
    n = len(batch)
    if shape[:n] == tuple(batch):
        return x
    return jnp.broadcast_to(x, (*batch, *shape[n:]))


def common_batch(n_batch: int, *buffers: Any) -> tuple[int, ...]:
    """Sizes of batch axes of buffers, of which some may be 1."""
    return np.broadcast_shapes(*(aval_of(x).shape[:n_batch] for x in buffers))


def columns(indices: Any, order: Sequence[int]) -> Any:
    """Columns of index vectors, ``[..., k] -> [..., len(order)]``."""
    k = aval_of(indices).shape[-1]
    if list(order) == list(range(k)):
        return indices
    last = aval_of(indices).ndim - 1
    if not len(order):
        return lax.slice_in_dim(indices, 0, 0, axis=last)
    cut = [lax.slice_in_dim(indices, c, c + 1, axis=last) for c in order]
    return lax.concatenate(cut, last) if len(cut) > 1 else cut[0]


def bounds(sizes: Sequence[int], like: Any) -> Any:
    """Sizes as one index vector of the dtype of indices, ``[len(sizes)]``."""
    return np.asarray(sizes, aval_of(like).dtype).reshape(len(sizes))


def inside(indices: Any, sizes: Sequence[int]) -> Any:
    """Which index vectors are no padding, ``[..., k] -> [...]``."""
    return jnp.all(indices < bounds(sizes, indices), axis=-1)


def mapped(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of buffers without batch axes, over ``count`` leading axes; an axis of size 1 beside longer ones is shared."""
    if not count:
        return function
    inner = mapped(function, count - 1)

    def over_axis(*buffers: Any) -> Any:
        sizes = [aval_of(x).shape[0] for x in buffers]
        longest = next((s for s in sizes if s != 1), 1)
        shared = [s == 1 != longest for s in sizes]
        given = [
            lax.squeeze(x, (0,)) if alone else x for x, alone in zip(buffers, shared, strict=True)
        ]
        return vmap(inner, in_axes=tuple(None if alone else 0 for alone in shared))(*given)

    return over_axis
