"""Lowerings of ``select_n`` and ``clamp``."""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.extend.core import ShapedArray, select_n_p
from plugjax.extend.dtypes import BOOL
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import selection as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, select_n_p)
def _select_n(ctx: EqnContext, which: Value, *cases: Value) -> Value:
    which_aval, (out,) = ctx.avals_in[0], ctx.avals_out

    def select(first: int, candidates: Sequence[Value]) -> Value:
        # Bisection: as many selections as cases, but a chain of logarithmic length.
        if len(candidates) == 1:
            return candidates[0]
        middle = len(candidates) // 2
        below = compare("LT", which_aval, which, ctx.constant(first + middle, which_aval))
        return mlir.value(
            "stablehlo.select",
            out,
            [
                below,
                select(first, candidates[:middle]),
                select(first + middle, candidates[middle:]),
            ],
        )

    if which_aval.dtype == BOOL and len(cases) == 2:
        return mlir.value("stablehlo.select", out, [which, cases[1], cases[0]])
    return select(0, cases)


@rules.define(lowering, lax.clamp_p)
def _clamp(ctx: EqnContext, low: Value, x: Value, high: Value) -> Value:
    low_aval, aval, high_aval = ctx.avals_in
    # StableHLO stretches scalar bounds, but only both together.
    if low_aval.shape != high_aval.shape:
        full = ShapedArray(aval.shape, aval.dtype)
        low, high = mlir.broadcast(low, low_aval, full), mlir.broadcast(high, high_aval, full)
    return mlir.value("stablehlo.clamp", ctx.avals_out[0], [low, x, high])
