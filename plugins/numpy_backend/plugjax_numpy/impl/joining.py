"""Kernels that join arrays, cut them apart, and pad them."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import joining as lax
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, lax.concatenate_p)
def _concatenate(*operands: Value, dimension: int) -> Value:
    return np.concatenate(operands, dimension)


@rules.define(impl, lax.split_p)
def _split(x: Value, *, sizes: tuple[int, ...], axis: int) -> list[Value]:
    parts, start = [], 0
    before = (slice(None),) * axis
    for size in sizes:
        parts.append(x[(*before, slice(start, start + size))])
        start += size
    return parts


@rules.define(impl, lax.stack_p)
def _stack(*operands: Value, axis: int) -> Value:
    return np.stack(operands, axis)


@rules.define(impl, lax.unstack_p)
def _unstack(x: Value, *, axis: int) -> list[Value]:
    return list(np.moveaxis(x, axis, 0))


@rules.define(impl, lax.pad_p)
def _pad(x: Value, value: Value, *, padding_config: lax.PaddingConfig) -> Value:
    if not padding_config:
        return x
    shape, source, target = [], [], []
    for size, (low, high, interior) in zip(x.shape, padding_config, strict=True):
        step = interior + 1
        total = low + high + size + max(size - 1, 0) * interior
        # Elements whose position low + i * step is within the result; negative padding cuts the
        # others off.
        first = min(size, -(low // step)) if low < 0 else 0
        last = min(size, max(first, -((low - total) // step)))
        shape.append(total)
        source.append(slice(first, last))
        start = low + first * step
        target.append(
            slice(start, start + (last - first - 1) * step + 1, step)
            if last > first
            else slice(0, 0)
        )
    out = np.full(shape, value, x.dtype)
    out[tuple(target)] = x[tuple(source)]
    return out
