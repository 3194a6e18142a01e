"""Convolutions with features last, for every layout in the program.

IREE 3.13 runs most convolutions whose features come first, and their gradients, up to 24 times slower, and
fuses transpositions back into them unless a barrier separates them. Small floats are widened, as for dot products. In convolutions with
groups of images or features it fills the holes of a dilated kernel with zeros, which is slow and gives nan where an element that no tap
reads is not finite, and those with several features are wrong on Vulkan: there the taps are gathered.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import FLOAT32
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.conv_shape import ConvDimensionNumbers, dilated, window_count
from plugjax.lax.convolution import conv_general_dilated_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.convolution import convolution
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering import convolution_products
from plugjax_iree.lowering.dot import as_product
from plugjax_iree.lowering.hardware import on_processor, on_vulkan
from plugjax_iree.lowering.sums import accumulator
from plugjax_iree.lowering.windowed import Windows, arranged, padded, padded_shape
from plugjax_iree.workarounds.switch import is_on

rules = RuleSet(__name__)


@rules.define(lowering, conv_general_dilated_p, platform="iree")
def _conv_general_dilated(
    ctx: EqnContext,
    lhs: Value,
    rhs: Value,
    *,
    dimension_numbers: ConvDimensionNumbers,
    preferred_element_type: Any,
    **params: Any,
) -> Value:
    (lhs_aval, rhs_aval), (out,) = ctx.avals_in, ctx.avals_out
    if any(0 in aval.shape for aval in (lhs_aval, rhs_aval, out)):
        # Sums of nothing: of an empty image there may be windows in the padding, and of an empty kernel anywhere.
        return ctx.constant(0, out)
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    rank = lhs_aval.ndim
    spatial = tuple(range(1, rank - 1))
    features_last = ConvDimensionNumbers(
        (0, rank - 1, *spatial), (rank - 1, rank - 2, *range(rank - 2)), (0, rank - 1, *spatial)
    )
    order = (out_spec[0], *out_spec[2:], out_spec[1])
    lhs, lhs_aval = _arranged(lhs, lhs_aval, (lhs_spec[0], *lhs_spec[2:], lhs_spec[1]))
    rhs, rhs_aval = _arranged(rhs, rhs_aval, (*rhs_spec[2:], rhs_spec[1], rhs_spec[0]))
    lhs, lhs_aval = as_product(lhs, lhs_aval, out.dtype)
    rhs, rhs_aval = as_product(rhs, rhs_aval, out.dtype)
    lhs, lhs_aval, params = _without_rest(lhs, lhs_aval, rhs_aval, params)
    in_groups = params["feature_group_count"] > 1 < rhs_aval.shape[-2]
    has_holes = any(gap > 1 for gap in params["rhs_dilation"])
    in_groups = in_groups or params["batch_group_count"] > 1
    is_wrong = on_vulkan(ctx) and any(n > 1 for n in rhs_aval.shape[:-2])
    gathers = (has_holes and is_on("dilated_groups")) or (is_wrong and is_on("vulkan_groups"))
    if in_groups and gathers:
        lhs, lhs_aval, rhs, rhs_aval, params = _gathered(lhs, lhs_aval, rhs, rhs_aval, params)
    dtype = accumulator(out.dtype)
    found = ShapedArray(tuple(out.shape[d] for d in order), dtype)
    shape = _shape_of_products(ctx, lhs_aval, rhs_aval, params)
    if shape is None:
        y = convolution(
            lhs, rhs, (lhs_aval, rhs_aval), found, dimension_numbers=features_last, **params
        )
    else:
        zero = mlir.constant(np.zeros((), dtype))
        lhs, _ = padded(lhs, lhs_aval, zero, _windows(rhs_aval, params))
        (y,) = ctx.inline(convolution_products.program(shape, dtype), [lhs, rhs])
    y, _ = _transposed(y, found, tuple(sorted(range(rank), key=order.__getitem__)))
    return convert(y, ShapedArray(out.shape, dtype), out.dtype)


def _shape_of_products(
    ctx: EqnContext, x: ShapedArray, kernel: ShapedArray, params: dict[str, Any]
) -> convolution_products.Shape | None:
    """The convolution, if it is faster as products."""
    groups = params["feature_group_count"] * params["batch_group_count"]
    total = accumulator(ctx.avals_out[0].dtype)
    is_plain = groups == 1 and x.dtype == kernel.dtype == total == FLOAT32
    if not (is_plain and on_processor(ctx) and is_on("convolution_products")):
        return None
    shape = convolution_products.Shape(
        padded_shape(x.shape, _windows(kernel, params)),
        kernel.shape,
        tuple(params["window_strides"]),
        tuple(params["rhs_dilation"]),
        params["precision"],
    )
    has_holes = any(gap > 1 for gap in params["lhs_dilation"])
    return shape if convolution_products.suits(shape, has_holes) else None


def _without_rest(
    x: Value, aval: ShapedArray, kernel: ShapedArray, params: dict[str, Any]
) -> tuple[Value, ShapedArray, dict[str, Any]]:
    """The operand, features last, without elements that no window reads: IREE refuses a single window that does not reach the end."""
    zero = mlir.constant(np.zeros((), aval.dtype))
    x, aval, windows = arranged(x, aval, zero, _windows(kernel, params))
    found = {
        "padding": tuple(windows.padding[1:-1]),
        "lhs_dilation": tuple(windows.base_dilation[1:-1]),
    }
    return x, aval, {**params, **found}


def _windows(kernel: ShapedArray, params: dict[str, Any]) -> Windows:
    """The windows of a kernel, over an array with features last."""
    one, none = (1,), ((0, 0),)
    return Windows(
        (*one, *kernel.shape[:-2], *one),
        (*one, *params["window_strides"], *one),
        (*none, *params["padding"], *none),
        (*one, *params["lhs_dilation"], *one),
        (*one, *params["rhs_dilation"], *one),
    )


def _gathered(
    x: Value, aval: ShapedArray, kernel: Value, taps: ShapedArray, params: dict[str, Any]
) -> tuple[Value, ShapedArray, Value, ShapedArray, dict[str, Any]]:
    """Operands, features last, for a kernel of one tap: the features of a place are the elements that all taps read for it."""
    *sizes, features, outputs = taps.shape
    batches, rank = params["batch_group_count"], len(sizes)
    groups = params["feature_group_count"] * batches
    windows = _windows(taps, params)
    x, aval = padded(x, aval, mlir.constant(np.zeros((), aval.dtype)), windows)
    # One of the two counts is 1: groups of images become groups of features.
    batch, *space, _ = aval.shape
    aval = aval.update(shape=(batches, batch // batches, *space, groups // batches, features))
    x = mlir.value("stablehlo.reshape", aval, [x])
    x, aval = _transposed(x, aval, (*range(1, rank + 2), 0, rank + 2, rank + 3))
    aval = aval.update(shape=(batch // batches, *space, groups, features))
    x = mlir.value("stablehlo.reshape", aval, [x])
    for axis in range(1, rank + 1):
        x, aval = _with_taps(x, aval, windows, axis)
    features *= math.prod(sizes)
    aval = aval.update(shape=(*aval.shape[: rank + 1], groups * features))
    x = mlir.value("stablehlo.reshape", aval, [x])
    taps = taps.update(shape=(*[1] * rank, features, outputs))
    kernel = mlir.value("stablehlo.reshape", taps, [kernel])
    steps = dict.fromkeys(("window_strides", "lhs_dilation", "rhs_dilation"), (1,) * rank)
    found = {"padding": ((0, 0),) * rank, "feature_group_count": groups, "batch_group_count": 1}
    return x, aval, kernel, taps, {**params, **steps, **found}


def _with_taps(
    x: Value, aval: ShapedArray, windows: Windows, axis: int
) -> tuple[Value, ShapedArray]:
    """The elements that the taps read along one axis, with a new axis over the taps before the last."""
    gap, step, count = windows.dilation[axis], windows.strides[axis], windows.dimensions[axis]
    found = window_count(aval.shape[axis], dilated(count, gap), step)
    shape = (*aval.shape[:axis], found, *aval.shape[axis + 1 :])
    one_tap = aval.update(shape=(*shape[:-1], 1, shape[-1]))
    read = []
    for tap in range(count):
        start, limit, strides = [0] * aval.ndim, list(aval.shape), [1] * aval.ndim
        start[axis], strides[axis] = tap * gap, step
        limit[axis] = start[axis] + dilated(found, step)
        part = mlir.static_slice(x, aval.update(shape=shape), start, limit, strides)
        read.append(mlir.value("stablehlo.reshape", one_tap, [part]))
    joined = aval.update(shape=(*shape[:-1], count, shape[-1]))
    along = {"dimension": mlir.i64(aval.ndim - 1)}
    return mlir.value("stablehlo.concatenate", joined, read, along), joined


def _arranged(x: Value, aval: ShapedArray, order: tuple[int, ...]) -> tuple[Value, ShapedArray]:
    """An operand transposed and widened, behind a barrier if that changes it."""
    arranged, found = _transposed(x, aval, order)
    wide = accumulator(aval.dtype)
    if wide != aval.dtype:
        arranged, found = convert(arranged, found, wide), ShapedArray(found.shape, wide)
    if arranged is x:
        return x, aval
    return mlir.op("stablehlo.optimization_barrier", [arranged.type], [arranged]).result, found


def _transposed(x: Value, aval: ShapedArray, order: tuple[int, ...]) -> tuple[Value, ShapedArray]:
    if order == tuple(range(aval.ndim)):
        return x, aval
    found = ShapedArray(tuple(aval.shape[d] for d in order), aval.dtype)
    return mlir.value("stablehlo.transpose", found, [x], {"permutation": mlir.i64s(order)}), found
