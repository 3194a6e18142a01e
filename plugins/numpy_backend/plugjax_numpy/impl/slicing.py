"""Kernels of slices; those that read give views."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import slicing as lax
from plugjax.lax.joining import slice_p
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, slice_p)
def _slice(
    x: Value,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Value:
    if strides is None:
        return x[tuple(map(slice, start_indices, limit_indices))]
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


def _window(
    shape: tuple[int, ...], starts: tuple[Value, ...], sizes: tuple[int, ...]
) -> tuple[slice, ...]:
    """The window that starts at ``starts``, clamped to the array."""
    window = []
    for bound, start, size in zip(shape, starts, sizes, strict=True):
        first = min(max(int(start), 0), bound - size)
        window.append(slice(first, first + size))
    return tuple(window)


@rules.define(impl, lax.dynamic_slice_p)
def _dynamic_slice(x: Value, *starts: Value, slice_sizes: tuple[int, ...]) -> Value:
    return x[_window(x.shape, starts, slice_sizes)] if starts else x


@rules.define(impl, lax.dynamic_update_slice_p)
def _dynamic_update_slice(x: Value, update: Value, *starts: Value) -> Value:
    if not starts:
        return update
    out = np.array(x)
    out[_window(x.shape, starts, update.shape)] = update
    return out
