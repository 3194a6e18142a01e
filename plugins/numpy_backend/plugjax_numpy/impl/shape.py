"""Kernels that rearrange elements; most give views."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import broadcast_in_dim_p, reshape_p, transpose_p
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import shape as lax
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, reshape_p)
def _reshape(x: Value, *, new_sizes: tuple[int, ...]) -> Value:
    return x.reshape(new_sizes)


@rules.define(impl, broadcast_in_dim_p)
def _broadcast_in_dim(
    x: Value, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> Value:
    out = np.empty(shape, x.dtype)
    if x.ndim and len(shape) != x.ndim:
        aligned = [1] * len(shape)
        for size, d in zip(x.shape, broadcast_dimensions, strict=True):
            aligned[d] = size
        x = x.reshape(aligned)
    out[...] = x
    return out


@rules.define(impl, transpose_p)
def _transpose(x: Value, *, permutation: tuple[int, ...]) -> Value:
    return x.transpose(permutation)


@rules.define(impl, lax.squeeze_p)
def _squeeze(x: Value, *, dimensions: tuple[int, ...]) -> Value:
    return x.squeeze(dimensions)


@rules.define(impl, lax.rev_p)
def _rev(x: Value, *, dimensions: tuple[int, ...]) -> Value:
    return np.flip(x, dimensions)


@rules.define(impl, lax.iota_p)
def _iota(*, dtype: np.dtype[Any], shape: tuple[int, ...], dimension: int) -> Value:
    counted = np.arange(shape[dimension]).astype(dtype)
    if len(shape) == 1:
        return counted
    aligned = [1] * len(shape)
    aligned[dimension] = shape[dimension]
    return np.broadcast_to(counted.reshape(aligned), shape)
