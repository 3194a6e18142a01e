"""Lowerings of dtype conversions and copies."""

from __future__ import annotations

from plugjax.extend.core import ShapedArray, convert_element_type_p, stop_gradient_p
from plugjax.extend.dtypes import BOOL, DType
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import conversion as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.complex import real_aval
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


def convert(x: Value, aval: ShapedArray, dtype: DType) -> Value:
    """A value of type ``aval`` in another dtype."""
    if aval.dtype == dtype:
        return x
    if dtype == BOOL:
        zero = mlir.constant(aval.dtype.type(0), aval.shape)
        return compare("NE", aval, x, zero)
    if aval.dtype.kind == "c" and dtype.kind != "c":
        aval = real_aval(aval)
        x = mlir.value("stablehlo.real", aval, [x])
        if aval.dtype == dtype:
            return x
    return mlir.op("stablehlo.convert", [mlir.tensor(aval.shape, dtype)], [x]).result


@rules.define(lowering, convert_element_type_p)
def _convert(ctx: EqnContext, x: Value, *, new_dtype: DType, weak_type: bool) -> Value:
    return convert(x, ctx.avals_in[0], new_dtype)


@rules.define(lowering, lax.bitcast_convert_type_p)
def _bitcast(ctx: EqnContext, x: Value, *, new_dtype: DType) -> Value:
    return mlir.value("stablehlo.bitcast_convert", ctx.avals_out[0], [x])


@rules.define(lowering, lax.reduce_precision_p)
def _reduce_precision(
    ctx: EqnContext, x: Value, *, exponent_bits: int, mantissa_bits: int
) -> Value:
    return reduced(x, ctx.avals_out[0], exponent_bits, mantissa_bits)


def reduced(x: Value, aval: ShapedArray, exponent_bits: int, mantissa_bits: int) -> Value:
    """A float of type ``aval`` rounded to fewer bits."""
    attributes = {
        "exponent_bits": mlir.attribute(f"{exponent_bits} : i32"),
        "mantissa_bits": mlir.attribute(f"{mantissa_bits} : i32"),
    }
    return mlir.value("stablehlo.reduce_precision", aval, [x], attributes)


@rules.define(lowering, stop_gradient_p, lax.copy_p, lax.stage_p)
def _identity(ctx: EqnContext, x: Value) -> Value:
    return x
