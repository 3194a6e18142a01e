"""Lowerings of the arithmetic primitives."""

from __future__ import annotations

from plugjax.core.rules import RuleSet, lowering
from plugjax.core.vocabulary import add_any_p, mul_p
from plugjax.lax import arithmetic as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import define_elementwise, elementwise
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

define_elementwise(
    rules,
    {
        lax.neg_p: "stablehlo.negate",
        lax.sub_p: "stablehlo.subtract",
        lax.div_p: "stablehlo.divide",
        lax.rem_p: "stablehlo.remainder",
        lax.max_p: "stablehlo.maximum",
        lax.min_p: "stablehlo.minimum",
        lax.floor_p: "stablehlo.floor",
        lax.ceil_p: "stablehlo.ceil",
        lax.nextafter_p: "chlo.next_after",
    },
)
rules.define(lowering, lax.add_p, add_any_p)(elementwise("stablehlo.add", on_bool="stablehlo.or"))
rules.define(lowering, mul_p)(elementwise("stablehlo.multiply", on_bool="stablehlo.and"))

_ROUND = ("stablehlo.round_nearest_afz", "stablehlo.round_nearest_even")


@rules.define(lowering, lax.round_p)
def _round(ctx: EqnContext, x: Value, *, rounding_method: int) -> Value:
    return mlir.value(_ROUND[rounding_method], ctx.avals_out[0], [x])


@rules.define(lowering, lax.square_p)
def _square(ctx: EqnContext, x: Value) -> Value:
    return mlir.value("stablehlo.multiply", ctx.avals_out[0], [x, x])


@rules.define(lowering, lax.abs_p)
def _abs(ctx: EqnContext, x: Value) -> Value:
    if ctx.avals_in[0].dtype.kind == "u":
        return x
    return mlir.value("stablehlo.abs", ctx.avals_out[0], [x])


@rules.define(lowering, lax.sign_p)
def _sign(ctx: EqnContext, x: Value) -> Value:
    (aval,) = ctx.avals_in
    if not aval.dtype.name.startswith("uint"):
        return mlir.value("stablehlo.sign", aval, [x])
    zero, one = ctx.constant(0, aval), ctx.constant(1, aval)
    return mlir.value("stablehlo.select", aval, [compare("EQ", aval, x, zero), zero, one])


@rules.define(lowering, lax.integer_pow_p)
def _integer_pow(ctx: EqnContext, x: Value, *, y: int) -> Value:
    (aval,) = ctx.avals_in

    def multiply(a: Value, b: Value) -> Value:
        return mlir.value("stablehlo.multiply", aval, [a, b])

    if y == 0:
        return ctx.constant(1, aval)
    # Bits from the lowest: the order of multiplications decides the last digit, and is that of JAX.
    result, exponent = None, abs(y)
    while exponent:
        if exponent & 1:
            result = x if result is None else multiply(result, x)
        exponent >>= 1
        if exponent:
            x = multiply(x, x)
    if y < 0:
        result = mlir.value("stablehlo.divide", aval, [ctx.constant(1, aval), result])
    return result
