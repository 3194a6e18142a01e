"""Lowerings of the arithmetic primitives."""

from __future__ import annotations

import numpy as np

from plugjax.extend.core import Primitive, ShapedArray, add_any_p, mul_p
from plugjax.extend.dtypes import BOOL
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import arithmetic as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.complex import real_aval
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.elementwise import define_elementwise, elementwise, stretched
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

define_elementwise(
    rules,
    {
        lax.neg_p: "stablehlo.negate",
        lax.sub_p: "stablehlo.subtract",
        lax.div_p: "stablehlo.divide",
        lax.rem_p: "stablehlo.remainder",
        lax.floor_p: "stablehlo.floor",
        lax.ceil_p: "stablehlo.ceil",
        lax.nextafter_p: "chlo.next_after",
    },
)
rules.define(lowering, lax.add_p, add_any_p)(elementwise("stablehlo.add", on_bool="stablehlo.or"))
rules.define(lowering, mul_p)(elementwise("stablehlo.multiply", on_bool="stablehlo.and"))


def _define_extremum(primitive: Primitive, operation: str, direction: str) -> None:
    plain = elementwise(operation)

    @rules.define(lowering, primitive)
    def _lower(ctx: EqnContext, x: Value, y: Value) -> Value:
        (out,) = ctx.avals_out
        if out.dtype.kind != "c":
            return plain(ctx, x, y)
        x, y = stretched(ctx, (x, y))
        part, flags = real_aval(out), ShapedArray(out.shape, BOOL)
        (re_x, im_x), (re_y, im_y) = (
            [mlir.value(f"stablehlo.{name}", part, [v]) for name in ("real", "imag")]
            for v in (x, y)
        )
        tie = compare("EQ", part, re_x, re_y)
        later = compare(direction, part, im_x, im_y)
        first = mlir.value("stablehlo.and", flags, [tie, later])
        for other in (
            compare(direction, part, re_x, re_y),
            compare("NE", part, re_x, re_x),
            compare("NE", part, im_x, im_x),
        ):
            first = mlir.value("stablehlo.or", flags, [first, other])
        return mlir.value("stablehlo.select", out, [first, x, y])


_define_extremum(lax.max_p, "stablehlo.maximum", "GT")
_define_extremum(lax.min_p, "stablehlo.minimum", "LT")

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


@rules.define(lowering, lax.mulhi_p)
def _mulhi(ctx: EqnContext, x: Value, y: Value) -> Value:
    (out,) = ctx.avals_out
    x, y = stretched(ctx, (x, y))
    bits = int(out.dtype.name.lstrip("uint"))
    unsigned = out.dtype.name.startswith("u")
    if bits == 64:
        return _mulhi64(ctx, x, y, out)
    wide = ShapedArray(out.shape, np.dtype(np.uint64 if unsigned else np.int64))
    product = mlir.value("stablehlo.multiply", wide, [convert(v, out, wide.dtype) for v in (x, y)])
    shift = "stablehlo.shift_right_logical" if unsigned else "stablehlo.shift_right_arithmetic"
    return convert(mlir.value(shift, wide, [product, ctx.constant(bits, wide)]), wide, out.dtype)


def _mulhi64(ctx: EqnContext, x: Value, y: Value, out: ShapedArray) -> Value:
    """The high word from four products of halves, which fit in a word, and their carries."""
    word = ShapedArray(out.shape, np.dtype(np.uint64))
    mask, half = ctx.constant(0xFFFFFFFF, word), ctx.constant(32, word)

    def op(name: str, *operands: Value, aval: ShapedArray = word) -> Value:
        return mlir.value(f"stablehlo.{name}", aval, operands)

    def low(v: Value) -> Value:
        return op("and", v, mask)

    def high(v: Value) -> Value:
        return op("shift_right_logical", v, half)

    a, b = (v if out == word else op("bitcast_convert", v) for v in (x, y))
    across = op("multiply", high(a), low(b))
    other = op("multiply", low(a), high(b))
    carry = op("add", op("add", low(across), low(other)), high(op("multiply", low(a), low(b))))
    upper = op("multiply", high(a), high(b))
    for part in (across, other, carry):
        upper = op("add", upper, high(part))
    if out == word:
        return upper
    # Signed factors: the unsigned product counts each factor once too often where the other is
    # negative.
    upper = op("bitcast_convert", upper, aval=out)
    sign = ctx.constant(63, out)
    for a, b in ((x, y), (y, x)):
        negative = op("shift_right_arithmetic", a, sign, aval=out)
        upper = op("subtract", upper, op("and", negative, b, aval=out), aval=out)
    return upper


@rules.define(lowering, lax.integer_pow_p)
def integer_pow(ctx: EqnContext, x: Value, *, y: int) -> Value:
    """``x ** y`` by repeated squares; of a negative power the reciprocal is taken last, as in JAX."""
    (aval,) = ctx.avals_in

    def multiply(a: Value, b: Value) -> Value:
        return mlir.value("stablehlo.multiply", aval, [a, b])

    if y == 0:
        return ctx.constant(1, aval)
    # Bits from the lowest. The order of multiplications determines the last digit, and is that of
    # JAX.
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
