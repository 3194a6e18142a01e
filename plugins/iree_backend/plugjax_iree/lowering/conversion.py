"""Conversion of floats to integers.

IREE 3.13 leaves nan, and what the integer cannot hold, to the machine (measured: 300.0 as int8 is 44, -1.0 as uint8 is 255).
Here they become 0 and the nearest limit, as on XLA.
"""

from __future__ import annotations

import numpy as np

from plugjax.core import RuleSet, ShapedArray, lowering
from plugjax.core.dtypes import BOOL, FLOAT32, DType
from plugjax.core.vocabulary import convert_element_type_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.complex import real_aval
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, convert_element_type_p, platform="iree")
def _convert(ctx: EqnContext, x: Value, *, new_dtype: DType, weak_type: bool) -> Value:
    (aval,) = ctx.avals_in
    # Kind V: bfloat16 and the other floats of ml_dtypes, and its small integers, which have no iinfo.
    if new_dtype.kind not in "iu" or aval.dtype.kind not in "fcV":
        return convert(x, aval, new_dtype)
    if aval.dtype.kind == "c":
        aval = real_aval(aval)
        x = mlir.value("stablehlo.real", aval, [x])
    if aval.dtype.itemsize < FLOAT32.itemsize:
        # float16 does not have the limits of int32.
        x, aval = convert(x, aval, FLOAT32), ShapedArray(aval.shape, FLOAT32)
    return _saturated(ctx, x, aval, new_dtype)


def _saturated(ctx: EqnContext, x: Value, aval: ShapedArray, dtype: DType) -> Value:
    limits, out = np.iinfo(dtype), ShapedArray(aval.shape, dtype)

    def select(flags: Value, on_true: Value, on_false: Value, of: ShapedArray) -> Value:
        return mlir.value("stablehlo.select", of, [flags, on_true, on_false])

    too_high = compare("GE", aval, x, ctx.constant(float(limits.max), aval))
    too_low = compare("LE", aval, x, ctx.constant(float(limits.min), aval))
    undefined = compare("NE", aval, x, x)
    outside = mlir.value("stablehlo.or", ShapedArray(aval.shape, BOOL), [too_high, too_low])
    outside = mlir.value("stablehlo.or", ShapedArray(aval.shape, BOOL), [outside, undefined])
    # Not converted at all: LLVM calls the result of an impossible conversion poison.
    inside = select(outside, ctx.constant(0, aval), x, aval)
    result = mlir.op("stablehlo.convert", [mlir.type_of(out)], [inside]).result
    result = select(too_low, ctx.constant(limits.min, out), result, out)
    return select(too_high, ctx.constant(limits.max, out), result, out)
