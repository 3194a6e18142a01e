"""Convolutions of integers on GPUs, which cuDNN refuses but for one combination of types: a product for each tap of the kernel."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.axes import is_symbolic
from plugjax.lax.convolution import conv_general_dilated_p
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.convolution import convolution
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.programs import staged

rules = RuleSet(__name__)

_GPUS = ("cuda", "rocm")


@rules.define(lowering, conv_general_dilated_p, platform="xla")
def _conv_general_dilated(
    ctx: EqnContext, lhs: Value, rhs: Value, *, preferred_element_type: Any, **params: Any
) -> Value:
    avals, (out,) = tuple(ctx.avals_in), ctx.avals_out
    sizes = [size for aval in (*avals, out) for size in aval.shape]
    by_taps = ctx.module.device_kind in _GPUS and out.dtype.kind in "iu"
    if not by_taps or 0 in sizes or any(map(is_symbolic, sizes)):
        return convolution(lhs, rhs, avals, out, **params)
    del params["precision"]
    settings = tuple(sorted(params.items()))
    program = staged(_program(out.shape, out.dtype, settings), avals, "integer_convolution")
    (result,) = ctx.call(program, [lhs, rhs], "integer_convolution")
    return result


@functools.cache
def _program(shape: tuple[int, ...], dtype: Any, settings: tuple[tuple[str, Any], ...]) -> Any:
    """One function for equal settings, so that it is staged once."""
    return functools.partial(sum_of_taps, shape=shape, dtype=dtype, **dict(settings))


def sum_of_taps(
    lhs: Any,
    rhs: Any,
    *,
    shape: tuple[int, ...],
    dtype: Any,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
) -> Any:
    """A convolution with result of a shape and dtype, as a sum of products; other arguments as of ``lax.conv_general_dilated``."""
    of_lhs, of_rhs, of_out = dimension_numbers
    groups = feature_group_count * batch_group_count
    x, kernel = lax.transpose(lhs, of_lhs), lax.transpose(rhs, of_rhs)
    edges = [(low, high, step - 1) for (low, high), step in zip(padding, lhs_dilation, strict=True)]
    x = lax.pad(x, np.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), *edges])
    batch, features = x.shape[:2]
    spatial = tuple(shape[axis] for axis in of_out[2:])
    # [group, output feature, input feature, taps...]
    kernel = lax.reshape(kernel, (groups, kernel.shape[0] // groups, *kernel.shape[1:]))

    def product(tap: tuple[int, ...]) -> Any:
        starts = [i * step for i, step in zip(tap, rhs_dilation, strict=True)]
        ends = [
            start + (size - 1) * stride + 1
            for start, size, stride in zip(starts, spatial, window_strides, strict=True)
        ]
        seen = lax.slice(
            x, (0, 0, *starts), (batch, features, *ends), (1, 1, *window_strides)
        )  # fmt: skip
        # [group, batch, input feature, positions...]
        if batch_group_count > 1:
            seen = lax.reshape(seen, (groups, batch // groups, features, *spatial))
        else:
            seen = lax.reshape(seen, (batch, groups, features // groups, *spatial))
            seen = lax.transpose(seen, (1, 0, *range(2, seen.ndim)))
        weights = kernel[(slice(None),) * 3 + tap]
        axes = (((2,), (2,)), ((0,), (0,)))
        return lax.dot_general(seen, weights, axes, preferred_element_type=dtype)

    total = functools.reduce(lax.add, map(product, np.ndindex(*kernel.shape[3:])))
    # [group, batch, positions..., output feature] to [batch, group * output feature, positions...]
    last = total.ndim - 1
    total = lax.transpose(total, (1, 0, last, *range(2, last)))
    total = lax.reshape(total, (total.shape[0], groups * total.shape[2], *spatial))
    return lax.transpose(total, np.argsort(of_out).tolist())


__all__ = ["rules", "sum_of_taps"]
