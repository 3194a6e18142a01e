"""Lowerings of primitives that rearrange elements."""

from __future__ import annotations

from typing import Any

from plugjax.extend.core import ShapedArray, broadcast_in_dim_p, reshape_p, transpose_p
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import shape as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, reshape_p, lax.squeeze_p)
def _reshape(ctx: EqnContext, x: Value, **_: Any) -> Value:
    return mlir.value("stablehlo.reshape", ctx.avals_out[0], [x])


@rules.define(lowering, broadcast_in_dim_p)
def _broadcast_in_dim(
    ctx: EqnContext, x: Value, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> Value:
    attributes = {"broadcast_dimensions": mlir.i64s(broadcast_dimensions)}
    return mlir.value("stablehlo.broadcast_in_dim", ctx.avals_out[0], [x], attributes)


@rules.define(lowering, transpose_p)
def _transpose(ctx: EqnContext, x: Value, *, permutation: tuple[int, ...]) -> Value:
    attributes = {"permutation": mlir.i64s(permutation)}
    return mlir.value("stablehlo.transpose", ctx.avals_out[0], [x], attributes)


@rules.define(lowering, lax.rev_p)
def _rev(ctx: EqnContext, x: Value, *, dimensions: tuple[int, ...]) -> Value:
    attributes = {"dimensions": mlir.i64s(dimensions)}
    return mlir.value("stablehlo.reverse", ctx.avals_out[0], [x], attributes)


@rules.define(lowering, lax.iota_p)
def _iota_rule(ctx: EqnContext, *, dimension: int, **_: Any) -> Value:
    return iota(ctx.avals_out[0], dimension)


def iota(aval: ShapedArray, dimension: int) -> Value:
    """The positions along an axis, as numbers of some type."""
    return mlir.value("stablehlo.iota", aval, [], {"iota_dimension": mlir.i64(dimension)})
