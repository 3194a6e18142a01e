"""Integers on Vulkan devices: quotients, remainders and leading zeros.

IREE 3.13 takes vectors of them apart there, and refuses what is unsigned of a vector of one element. So quotients are those of signed
integers, and zeros are counted in 32 bits. The remainder of the smallest signed integer has the wrong sign there: it is computed from the
quotient.

Reference:
    H. S. Warren, "Hacker's Delight", 2nd edition, section 9-5 (an unsigned quotient from a signed one).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import INT32
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.comparison import clz_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.elementwise import elementwise, stretched
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.hardware import on_vulkan
from plugjax_iree.workarounds import is_on

rules = RuleSet(__name__)

_QUOTIENT, _REMAINDER = elementwise("stablehlo.divide"), elementwise("stablehlo.remainder")
_LEADING_ZEROS = elementwise("stablehlo.count_leading_zeros")


def quotient(ctx: EqnContext, *operands: Value) -> Value:
    """The lowering of a quotient of real numbers."""
    if not _is_worked_around(ctx):
        return _QUOTIENT(ctx, *operands)
    (out,) = ctx.avals_out
    wide, (x, y) = _widened(out, stretched(ctx, operands))
    return convert(_divided(ctx, wide, x, y), wide, out.dtype)


def remainder(ctx: EqnContext, *operands: Value) -> Value:
    """The lowering of a remainder of integers: ``x - y * (x / y)``."""
    if not _is_worked_around(ctx):
        return _REMAINDER(ctx, *operands)
    (out,) = ctx.avals_out
    wide, (x, y) = _widened(out, stretched(ctx, operands))
    product = mlir.value("stablehlo.multiply", wide, [_divided(ctx, wide, x, y), y])
    return convert(mlir.value("stablehlo.subtract", wide, [x, product]), wide, out.dtype)


def _is_worked_around(ctx: EqnContext) -> bool:
    (out,) = ctx.avals_out
    return out.dtype.kind in "iu" and on_vulkan(ctx) and is_on("vulkan_integers")


def _widened(out: ShapedArray, operands: Sequence[Value]) -> tuple[ShapedArray, list[Value]]:
    """Operands in 32 bits at least, and their type. Narrow ones fit into a signed integer."""
    wide = out if out.dtype.itemsize >= INT32.itemsize else ShapedArray(out.shape, INT32)
    return wide, [convert(x, out, wide.dtype) for x in operands]


def _divided(ctx: EqnContext, aval: ShapedArray, x: Value, y: Value) -> Value:
    """A quotient, rounded towards zero; -1 or the largest integer if the divisor is 0."""
    if aval.dtype.kind == "i":
        return mlir.value("stablehlo.divide", aval, [x, y])
    signed = ShapedArray(aval.shape, np.dtype(f"i{aval.dtype.itemsize}"))
    zero, one = ctx.constant(0, aval), ctx.constant(1, aval)

    def op(name: str, *values: Value, aval: ShapedArray = aval) -> Value:
        return mlir.value(f"stablehlo.{name}", aval, values)

    def is_not_below(a: Value, b: Value) -> Value:
        return op("select", compare("GE", aval, a, b), one, zero)

    half, divisor = (
        op("bitcast_convert", a, aval=signed) for a in (op("shift_right_logical", x, one), y)
    )
    halved = op("bitcast_convert", op("divide", half, divisor, aval=signed))
    # Too small by one, or right.
    found = op("shift_left", halved, one)
    left = op("subtract", x, op("multiply", found, y))
    found = op("add", found, is_not_below(left, y))
    is_large = compare("LT", signed, divisor, ctx.constant(0, signed))
    return op("select", is_large, is_not_below(x, y), found)


@rules.define(lowering, clz_p, platform="iree")
def _leading_zeros_rule(ctx: EqnContext, x: Value) -> Value:
    (out,) = ctx.avals_out
    bits, wide = 8 * out.dtype.itemsize, ShapedArray(out.shape, np.dtype(np.uint32))
    if not on_vulkan(ctx) or out.dtype.itemsize == INT32.itemsize:
        return _LEADING_ZEROS(ctx, x)
    unsigned = ShapedArray(out.shape, np.dtype(f"u{out.dtype.itemsize}"))
    x = mlir.value("stablehlo.bitcast_convert", unsigned, [x])

    def zeros(value: Value) -> Value:
        narrow = convert(value, unsigned, wide.dtype)
        return mlir.value("stablehlo.count_leading_zeros", wide, [narrow])

    if bits < 32:
        beyond = ctx.constant(32 - bits, wide)
        found = mlir.value("stablehlo.subtract", wide, [zeros(x), beyond])
    else:
        half = ctx.constant(32, wide)
        shift = ctx.constant(32, unsigned)
        upper = zeros(mlir.value("stablehlo.shift_right_logical", unsigned, [x, shift]))
        both = mlir.value("stablehlo.add", wide, [half, zeros(x)])
        found = mlir.value(
            "stablehlo.select", wide, [compare("EQ", wide, upper, half), both, upper]
        )
    return convert(found, wide, out.dtype)
