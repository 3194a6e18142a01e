"""Gather and scatter that never leave their operands.

IREE 3.13 does not clamp windows: a gather out of bounds reads, and a scatter out of bounds writes, foreign memory
(measured: wrong values, then a segfault). So starts are clamped here; ``scattering.py`` drops updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import gather_scatter as lax
from plugjax.lax.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from plugjax.stablehlo import gather_scatter as stablehlo
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import MAXIMUM, MINIMUM, PRODUCT, SUM, Reducer
from plugjax_iree.lowering.scattering import Scatter, all_inside, clamped

rules = RuleSet(__name__)


@rules.define(lowering, lax.gather_p, platform="iree")
def _gather(
    ctx: EqnContext,
    operand: Value,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: GatherScatterMode,
    fill_value: Any,
    **params: Any,
) -> Value:
    operand_aval, indices_aval = ctx.avals_in
    shared = {
        "dimension_numbers": dimension_numbers,
        "slice_sizes": slice_sizes,
        "fill_value": fill_value,
    }
    if 0 in operand_aval.shape or 0 in ctx.avals_out[0].shape:
        return stablehlo.gather(ctx, operand, indices, mode=mode, **shared, **params)
    inside = clamped(operand_aval, indices, indices_aval, dimension_numbers, slice_sizes)
    clip = GatherScatterMode.CLIP
    windows = stablehlo.gather(ctx, operand, inside, mode=clip, **shared, **params)
    if mode is not GatherScatterMode.FILL_OR_DROP or all_inside(
        operand_aval, indices, dimension_numbers, slice_sizes
    ):
        return windows
    return stablehlo.fill_outside(ctx, windows, indices, **shared)


def _scatter(reducer: Reducer | None) -> Callable[..., Value]:
    """The lowering that combines old and new elements by ``reducer``; ``None`` keeps the new."""

    def rule(
        ctx: EqnContext,
        operand: Value,
        indices: Value,
        updates: Value,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        **_: Any,
    ) -> Value:
        operand_aval, indices_aval, updates_aval = ctx.avals_in
        if 0 in updates_aval.shape or 0 in operand_aval.shape:
            return operand
        scatter = Scatter(ctx, indices, dimension_numbers, mode, reducer)
        if math.prod(indices_aval.shape[:-1]) == 1:
            return scatter.one_window(operand, updates)
        return scatter.many_windows(operand, updates)

    return rule


for _p, _reducer in (
    (lax.scatter_p, None),
    (lax.scatter_add_p, SUM),
    (lax.scatter_mul_p, PRODUCT),
    (lax.scatter_min_p, MINIMUM),
    (lax.scatter_max_p, MAXIMUM),
):
    rules.define(lowering, _p, platform="iree")(_scatter(_reducer))
