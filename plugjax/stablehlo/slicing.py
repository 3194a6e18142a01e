"""Lowerings of slices at computed positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import slicing as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, lax.dynamic_slice_p)
def _dynamic_slice(
    ctx: EqnContext, x: Value, *starts: Value, slice_sizes: tuple[int, ...]
) -> Value:
    attributes = {"slice_sizes": mlir.i64s(slice_sizes)}
    starts = _within(ctx, starts, slice_sizes)
    return mlir.value("stablehlo.dynamic_slice", ctx.avals_out[0], [x, *starts], attributes)


@rules.define(lowering, lax.dynamic_update_slice_p)
def _dynamic_update_slice(ctx: EqnContext, x: Value, update: Value, *starts: Value) -> Value:
    starts = _within(ctx, starts, ctx.avals_in[1].shape)
    return mlir.value("stablehlo.dynamic_update_slice", ctx.avals_out[0], [x, update, *starts])


def _within(ctx: EqnContext, starts: Sequence[Value], sizes: Sequence[int]) -> tuple[Value, ...]:
    """Starts clamped to the operand if they are unsigned: XLA reads large unsigned constants as negative."""
    (x, *_), avals = ctx.avals_in, ctx.avals_in[-len(starts) :] if starts else ()
    found = []
    for start, aval, extent, size in zip(starts, avals, x.shape, sizes, strict=True):
        if aval.dtype.kind == "u":
            last = extent - size
            if not mlir.is_symbolic(last):
                last = min(last, np.iinfo(aval.dtype).max)
            limit = mlir.size(last, aval.dtype)
            start = mlir.value("stablehlo.minimum", aval, [start, limit])
        found.append(start)
    return tuple(found)
