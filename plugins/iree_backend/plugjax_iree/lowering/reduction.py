"""Reductions: accurate sums, and cumulative operations. Those on unsigned integers, which IREE 3.13 refuses, are done on signed ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import Primitive, ShapedArray, reduce_sum_p
from plugjax.extend.dtypes import FLOAT32, FLOAT64
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import reduction as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import MAXIMUM, MINIMUM, PRODUCT, SUM, Reducer
from plugjax.stablehlo.reduction import cumulative
from plugjax_iree.lowering.hardware import on_processor, on_vulkan
from plugjax_iree.lowering.sums import (
    accumulator,
    cumulative_by_doubling,
    cumulative_sum,
    fewer_rows,
    reduced,
)
from plugjax_iree.workarounds.switch import is_on

rules = RuleSet(__name__)


def _define(primitive: Primitive, reducer: Reducer) -> None:
    ordered = reducer in (MAXIMUM, MINIMUM)

    @rules.define(lowering, primitive, platform="iree")
    def rule(ctx: EqnContext, x: Value, *, axis: int, reverse: bool) -> Value:
        (aval,) = ctx.avals_in
        if aval.dtype.kind == "c" and on_vulkan(ctx) and is_on("complex_cumulations"):
            return cumulative_by_doubling(reducer, x, aval, axis=axis, reverse=reverse)
        if aval.dtype.kind != "u" or not is_on("unsigned_cumulations"):
            wide = aval.update(dtype=aval.dtype if ordered else accumulator(aval.dtype))
            x = convert(x, aval, wide.dtype)
            if reducer is SUM and 0 not in aval.shape:
                x = cumulative_sum(x, wide, axis=axis, reverse=reverse)
            else:
                x = cumulative(reducer, x, wide, axis=axis, reverse=reverse)
            return convert(x, wide, aval.dtype)
        signed = ShapedArray(aval.shape, np.dtype(f"int{8 * aval.dtype.itemsize}"))
        lowest = ctx.constant(np.iinfo(signed.dtype).min, signed)

        def shifted(v: Any) -> Value:
            # Sums and products have the same bits; for the order, values are shifted by half the range.
            return mlir.value("stablehlo.xor", signed, [v, lowest]) if ordered else v

        y = shifted(mlir.value("stablehlo.bitcast_convert", signed, [x]))
        y = shifted(cumulative(reducer, y, signed, axis=axis, reverse=reverse))
        return mlir.value("stablehlo.bitcast_convert", aval, [y])


def _define_total(primitive: Primitive, reducer: Reducer) -> None:
    @rules.define(lowering, primitive, platform="iree")
    def rule(ctx: EqnContext, x: Value, *, axes: tuple[int, ...], **_: Any) -> Value:
        (aval,) = ctx.avals_in
        of_rows = reducer is SUM and axes == (0,) and aval.ndim > 1
        if (
            of_rows
            and aval.dtype in (FLOAT32, FLOAT64)
            and on_processor(ctx)
            and is_on("sums_of_rows")
        ):
            x, aval = fewer_rows(x, aval)
        return reduced(reducer, x, aval, axes)


_define_total(reduce_sum_p, SUM)
_define_total(lax.reduce_prod_p, PRODUCT)
_define(lax.cumsum_p, SUM)
_define(lax.cumprod_p, PRODUCT)
_define(lax.cummax_p, MAXIMUM)
_define(lax.cummin_p, MINIMUM)
