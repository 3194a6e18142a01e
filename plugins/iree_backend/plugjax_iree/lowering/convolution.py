"""Convolutions with features last, whatever the layout of the program.

IREE 3.13 runs a convolution whose features come first some 70 times slower, and moves
transposes back into it unless a barrier stands between. Small floats are widened, as for dot products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.core import RuleSet, ShapedArray, lowering
from plugjax.lax.conv_shape import ConvDimensionNumbers
from plugjax.lax.convolution import conv_general_dilated_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.convolution import convolution
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.dot import as_product
from plugjax_iree.lowering.sums import accumulator
from plugjax_iree.lowering.windowed import Windows, arranged

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
    dtype = accumulator(out.dtype)
    found = ShapedArray(tuple(out.shape[d] for d in order), dtype)
    y = convolution(
        lhs, rhs, (lhs_aval, rhs_aval), found, dimension_numbers=features_last, **params
    )
    y, _ = _transposed(y, found, tuple(sorted(range(rank), key=order.__getitem__)))
    return convert(y, ShapedArray(out.shape, dtype), out.dtype)


def _without_rest(
    x: Value, aval: ShapedArray, kernel: ShapedArray, params: dict[str, Any]
) -> tuple[Value, ShapedArray, dict[str, Any]]:
    """The operand, features last, without what no window reads: IREE refuses a single place that does not reach the end."""
    one, none = (1,), ((0, 0),)
    windows = Windows(
        (*one, *kernel.shape[:-2], *one),
        (*one, *params["window_strides"], *one),
        (*none, *params["padding"], *none),
        (*one, *params["lhs_dilation"], *one),
        (*one, *params["rhs_dilation"], *one),
    )
    zero = mlir.constant(np.zeros((), aval.dtype))
    x, aval, windows = arranged(x, aval, zero, windows)
    found = {
        "padding": tuple(windows.padding[1:-1]),
        "lhs_dilation": tuple(windows.base_dilation[1:-1]),
    }
    return x, aval, {**params, **found}


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
