"""Lowering of repetition."""

from __future__ import annotations

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.broadcasting import tile_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, tile_p)
def _tile(ctx: EqnContext, x: Value, *, reps: tuple[int, ...]) -> Value:
    (aval,), (out,) = ctx.avals_in, ctx.avals_out
    pairs = [n for pair in zip(reps, aval.shape, strict=True) for n in pair]
    copies = ShapedArray(pairs, aval.dtype)
    places = {"broadcast_dimensions": mlir.i64s(range(1, len(pairs), 2))}
    spread = mlir.value("stablehlo.broadcast_in_dim", copies, [x], places)
    return mlir.value("stablehlo.reshape", out, [spread])
