"""Lowering of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.convolution import conv_general_dilated_p
from plugjax.lax.dot import PrecisionPair
from plugjax.stablehlo import mlir
from plugjax.stablehlo.complex import real_aval
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.dot import precision_config
from plugjax.stablehlo.mlir import Attribute, Value

rules = RuleSet(__name__)


@rules.define(lowering, conv_general_dilated_p)
def _conv_general_dilated(
    ctx: EqnContext, lhs: Value, rhs: Value, *, preferred_element_type: Any, **params: Any
) -> Value:
    return convolution(lhs, rhs, ctx.avals_in, ctx.avals_out[0], **params)


def convolution(
    lhs: Value, rhs: Value, avals: Sequence[ShapedArray], out: ShapedArray, **params: Any
) -> Value:
    """The convolution as a value of type ``out``. An empty sum is zero; a complex convolution is four real ones."""
    if any(0 in aval.shape for aval in (*avals, out)):
        return mlir.constant(np.zeros((), out.dtype), out.shape)
    if avals[0].dtype.kind != "c":
        return _real_convolution(lhs, rhs, out, **params)
    parts = [
        [mlir.value(f"stablehlo.{part}", real_aval(a), [x]) for part in ("real", "imag")]
        for x, a in zip((lhs, rhs), avals, strict=True)
    ]
    part = real_aval(out)
    (a, b), (c, d) = parts

    def product(x: Value, y: Value) -> Value:
        return _real_convolution(x, y, part, **params)

    real = mlir.value("stablehlo.subtract", part, [product(a, c), product(b, d)])
    imag = mlir.value("stablehlo.add", part, [product(a, d), product(b, c)])
    return mlir.value("stablehlo.complex", out, [real, imag])


def _real_convolution(
    lhs: Value,
    rhs: Value,
    out: ShapedArray,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    precision: PrecisionPair,
) -> Value:
    attributes = {
        "window_strides": mlir.i64s(window_strides),
        "padding": mlir.pairs(padding),
        "lhs_dilation": mlir.i64s(lhs_dilation),
        "rhs_dilation": mlir.i64s(rhs_dilation),
        "window_reversal": mlir.attribute(_flags(len(window_strides))),
        "dimension_numbers": _numbers(dimension_numbers),
        "feature_group_count": mlir.i64(feature_group_count),
        "batch_group_count": mlir.i64(batch_group_count),
        "precision_config": precision_config(precision),
    }
    return mlir.value("stablehlo.convolution", out, [lhs, rhs], attributes)


def _flags(count: int) -> str:
    return f"array<i1: {', '.join(['false'] * count)}>" if count else "array<i1>"


def _numbers(numbers: Any) -> Attribute:
    """Dimension numbers: for each array its two special axes, then the spatial ones."""
    lhs, rhs, out = numbers
    return mlir.attribute(
        f"#stablehlo.conv<raw input_batch_dimension = {lhs[0]}, "
        f"input_feature_dimension = {lhs[1]}, "
        f"input_spatial_dimensions = {list(lhs[2:])}, kernel_output_feature_dimension = {rhs[0]}, "
        f"kernel_input_feature_dimension = {rhs[1]}, kernel_spatial_dimensions = {list(rhs[2:])}, "
        f"output_batch_dimension = {out[0]}, output_feature_dimension = {out[1]}, "
        f"output_spatial_dimensions = {list(out[2:])}>"
    )
