"""Kernel of convolutions: windows as a view, and a matrix product for each group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.convolution import conv_general_dilated_p
from plugjax_numpy.impl.dot import product_dtypes
from plugjax_numpy.kernels import Value, mark_fresh

rules = RuleSet(__name__)
mark_fresh(rules, conv_general_dilated_p)


@rules.define(impl, conv_general_dilated_p)
def _conv_general_dilated(
    x: Value,
    k: Value,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    preferred_element_type: Any,
) -> Value:
    computed, result = product_dtypes(x.dtype, k.dtype, preferred_element_type)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    # Features last: (batch, spatial..., features) and (spatial..., inputs, outputs).
    x = np.asarray(x, computed).transpose(lhs_spec[0], *lhs_spec[2:], lhs_spec[1])
    k = np.asarray(k, computed).transpose(*rhs_spec[2:], rhs_spec[1], rhs_spec[0])
    if not x.size:
        # Its padding meets no element of the kernel, as in XLA: not even nan.
        k = np.zeros_like(k)
    x = _spread(x, lhs_dilation, padding)
    if batch_group_count > 1:
        # Group g of the outputs reads part g of the batch: turn the parts into groups of features.
        parts = x.reshape(batch_group_count, x.shape[0] // batch_group_count, *x.shape[1:])
        x = np.moveaxis(parts, 0, -2).reshape(*parts.shape[1:-1], -1)
    y = _grouped(x, k, window_strides, rhs_dilation, feature_group_count * batch_group_count)
    # y is (batch, windows..., outputs).
    rank = y.ndim
    y = y.transpose(np.argsort((out_spec[0], *out_spec[2:], out_spec[1]))) if rank > 1 else y
    return y if y.dtype == result else y.astype(result)


def _spread(x: Value, dilation: tuple[int, ...], padding: tuple[tuple[int, int], ...]) -> Value:
    """The input with holes and padding; negative padding cuts elements off."""
    if all(d == 1 for d in dilation) and not any(map(any, padding)):
        return x
    spatial = x.shape[1:-1]
    extents = [
        (n - 1) * d + 1 + lo + hi if n else lo + hi
        for n, d, (lo, hi) in zip(spatial, dilation, padding, strict=True)
    ]
    out = np.zeros((x.shape[0], *extents, x.shape[-1]), x.dtype)
    source: list[slice] = [slice(None)]
    target: list[slice] = [slice(None)]
    for n, d, (lo, _), extent in zip(spatial, dilation, padding, extents, strict=True):
        first = max(0, -(lo // d))  # The first element at or after 0.
        past = min(n, max(first, -(-(extent - lo) // d)))  # The first element beyond the end.
        source.append(slice(first, past))
        begin = first * d + lo
        target.append(slice(begin, begin + max(0, (past - first - 1) * d + 1), d))
        if past <= first:
            return out
    out[tuple(target)] = x[tuple(source)]
    return out


def _grouped(
    x: Value, k: Value, strides: tuple[int, ...], dilation: tuple[int, ...], groups: int
) -> Value:
    """Convolve ``x`` (batch, spatial..., features) with ``k`` (spatial..., inputs, outputs), by groups."""
    window, (inputs, outputs) = k.shape[:-2], k.shape[-2:]
    counts = [
        max(0, (n - ((w - 1) * d + 1 if w else 0)) // s + 1)
        for n, w, d, s in zip(x.shape[1:-1], window, dilation, strides, strict=True)
    ]
    batch = x.shape[0]
    each = outputs // groups
    rows, inner = batch * math.prod(counts), math.prod(window) * inputs
    if rows == 0 or inner == 0 or outputs == 0:
        return np.zeros((batch, *counts, outputs), x.dtype)
    x = x.reshape(*x.shape[:-1], groups, inputs)
    steps = x.strides[1:-2]
    # (groups, batch, windows..., window positions..., inputs), as a view.
    windows = np.lib.stride_tricks.as_strided(
        x,
        (groups, batch, *counts, *window, inputs),
        (
            x.strides[-2],
            x.strides[0],
            *(s * t for s, t in zip(steps, strides, strict=True)),
            *(s * d for s, d in zip(steps, dilation, strict=True)),
            x.strides[-1],
        ),
        writeable=False,
    )
    left = windows.reshape(groups, rows, inner)
    right = k.reshape(inner, groups, each).transpose(1, 0, 2)
    out = np.matmul(left, right)  # (groups, rows, outputs of a group)
    return out.transpose(1, 0, 2).reshape(batch, *counts, outputs)
