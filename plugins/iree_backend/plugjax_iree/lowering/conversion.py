"""Conversion between floats and integers.

IREE 3.13 leaves nan, and floats outside the range of the integer dtype, to the processor (measured: 300.0 as int8 is 44, -1.0 as uint8 is
255). Here they become 0 and the nearest limit, as on XLA.

Integers become bfloat16 by way of the bits of a float32: LLVM turns the conversion into a call of a function that the linker does not find,
even if it is written in two steps.

IREE computes kernels of bfloat16 in float32: what is converted to bfloat16 and back keeps all its digits. So it is rounded before, as on XLA.

IREE turns a product with a converted bool into a choice between the other factor and 0, even if that factor is not finite. So a bool is
converted by a choice between 1 and 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray, convert_element_type_p
from plugjax.extend.dtypes import BOOL, FLOAT32, DType, bfloat16
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.shape import iota_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.complex import real_aval
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert, reduced
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.shape import iota
from plugjax_iree.workarounds.switch import is_on

rules = RuleSet(__name__)


@rules.define(lowering, convert_element_type_p, platform="iree")
def _convert(ctx: EqnContext, x: Value, *, new_dtype: DType, weak_type: bool) -> Value:
    return converted(ctx, x, ctx.avals_in[0], new_dtype)


@rules.define(lowering, iota_p, platform="iree")
def _iota(ctx: EqnContext, *, dimension: int, **_: Any) -> Value:
    (out,) = ctx.avals_out
    if out.dtype != bfloat16 or not is_on("integers_to_bfloat16"):
        return iota(out, dimension)
    return _upper_half(ctx, iota(ShapedArray(out.shape, FLOAT32), dimension), out.shape)


def converted(ctx: EqnContext, x: Value, aval: ShapedArray, new_dtype: DType) -> Value:
    """A value of type ``aval`` in another dtype."""
    flags = _flags(x, aval)
    if flags is not None and new_dtype.kind in "fcV" and is_on("bool_products"):
        out = ShapedArray(aval.shape, new_dtype)
        ends = [ctx.constant(end, out) for end in (1, 0)]
        return mlir.value("stablehlo.select", out, [flags, *ends])
    if new_dtype == bfloat16 and aval.dtype.kind in "iu" and is_on("integers_to_bfloat16"):
        return _upper_half(ctx, convert(x, aval, FLOAT32), aval.shape)
    if new_dtype == bfloat16 and aval.dtype.kind == "f" and is_on("lost_roundings"):
        return _rounded(x, aval)
    # Kind V: bfloat16 and the other floats of ml_dtypes, and its small integers, which have no iinfo.
    if new_dtype.kind not in "iu" or aval.dtype.kind not in "fcV":
        return convert(x, aval, new_dtype)
    if aval.dtype.kind == "c":
        aval = real_aval(aval)
        x = mlir.value("stablehlo.real", aval, [x])
    if aval.dtype.itemsize < FLOAT32.itemsize:
        # float16 does not have the limits of int32.
        x, aval = convert(x, aval, FLOAT32), ShapedArray(aval.shape, FLOAT32)
    if not is_on("unsaturated_conversions"):
        return convert(x, aval, new_dtype)
    return _saturated(ctx, x, aval, new_dtype)


def _flags(x: Value, aval: ShapedArray) -> Value | None:
    """A bool value, or the bools from which an integer value was converted."""
    if aval.dtype.kind in "iu" and getattr(x.owner, "name", None) == "stablehlo.convert":
        (x,) = x.owner.operands
    is_bool = x.type.element_type == mlir.element_type(BOOL)
    return x if is_bool else None


def _saturated(ctx: EqnContext, x: Value, aval: ShapedArray, dtype: DType) -> Value:
    limits, out = np.iinfo(dtype), ShapedArray(aval.shape, dtype)

    def select(flags: Value, on_true: Value, on_false: Value, of: ShapedArray) -> Value:
        return mlir.value("stablehlo.select", of, [flags, on_true, on_false])

    too_high = compare("GE", aval, x, ctx.constant(float(limits.max), aval))
    too_low = compare("LE", aval, x, ctx.constant(float(limits.min), aval))
    undefined = compare("NE", aval, x, x)
    outside = mlir.value("stablehlo.or", ShapedArray(aval.shape, BOOL), [too_high, too_low])
    outside = mlir.value("stablehlo.or", ShapedArray(aval.shape, BOOL), [outside, undefined])
    # Such floats must not reach the conversion: its result would be poison in LLVM.
    inside = select(outside, ctx.constant(0, aval), x, aval)
    result = mlir.op("stablehlo.convert", [mlir.type_of(out)], [inside]).result
    result = select(too_low, ctx.constant(limits.min, out), result, out)
    return select(too_high, ctx.constant(limits.max, out), result, out)


def _rounded(x: Value, aval: ShapedArray) -> Value:
    """A float as bfloat16, rounded as float32 before the conversion."""
    wide = ShapedArray(aval.shape, FLOAT32)
    return convert(reduced(convert(x, aval, FLOAT32), wide, 8, 7), wide, bfloat16)


def _upper_half(ctx: EqnContext, x: Value, shape: tuple[int, ...]) -> Value:
    """A finite float32, rounded to even, as bfloat16."""
    word, half = ShapedArray(shape, np.dtype(np.uint32)), ShapedArray(shape, np.dtype(np.uint16))

    def op(name: str, *operands: Value) -> Value:
        return mlir.value(f"stablehlo.{name}", word, operands)

    bits = op("bitcast_convert", x)
    sixteen = ctx.constant(16, word)
    odd = op("and", op("shift_right_logical", bits, sixteen), ctx.constant(1, word))
    rounded = op("add", bits, op("add", odd, ctx.constant(0x7FFF, word)))
    upper = convert(op("shift_right_logical", rounded, sixteen), word, half.dtype)
    return mlir.value("stablehlo.bitcast_convert", ShapedArray(shape, bfloat16), [upper])
