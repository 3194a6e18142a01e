"""Lowerings of integer division whose divisor may be 0.

XLA's compiler folds divisions of constants with the processor's instruction, which ends the process for a divisor of
0. So the divisor becomes 1 there, and the result that XLA documents is selected: all bits set for a quotient, the
dividend for a remainder.
"""

from __future__ import annotations

import numpy as np

from plugjax.extend.core import Literal
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.arithmetic import div_p, rem_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import stretched
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


def _divided(ctx: EqnContext, operation: str, x: Value, y: Value) -> tuple[Value, Value, Value]:
    """The dividend, the mask of zero divisors, and the result with divisor 1 in their place."""
    (out,) = ctx.avals_out
    x, y = stretched(ctx, (x, y))
    zero = compare("EQ", out, y, ctx.constant(0, out))
    divisor = mlir.value("stablehlo.select", out, [zero, ctx.constant(1, out), y])
    return x, zero, mlir.value(operation, out, [x, divisor])


def _may_be_zero(ctx: EqnContext) -> bool:
    divisor = ctx.eqn.invars[1]
    known = isinstance(divisor, Literal)
    return divisor.aval.dtype.kind in "iu" and not (known and np.all(np.asarray(divisor.val) != 0))


def _plain(ctx: EqnContext, operation: str, x: Value, y: Value) -> Value:
    return mlir.value(operation, ctx.avals_out[0], stretched(ctx, (x, y)))


@rules.define(lowering, div_p, platform="xla")
def _div(ctx: EqnContext, x: Value, y: Value) -> Value:
    if not _may_be_zero(ctx):
        return _plain(ctx, "stablehlo.divide", x, y)
    (out,) = ctx.avals_out
    _, zero, quotient = _divided(ctx, "stablehlo.divide", x, y)
    ones = ctx.constant(~np.zeros((), out.dtype), out)
    return mlir.value("stablehlo.select", out, [zero, ones, quotient])


@rules.define(lowering, rem_p, platform="xla")
def _rem(ctx: EqnContext, x: Value, y: Value) -> Value:
    if not _may_be_zero(ctx):
        return _plain(ctx, "stablehlo.remainder", x, y)
    dividend, zero, remainder = _divided(ctx, "stablehlo.remainder", x, y)
    return mlir.value("stablehlo.select", ctx.avals_out[0], [zero, dividend, remainder])
