"""Lowerings of reductions over moving windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core.rules import RuleSet, lowering
from plugjax.lax import windowed as lax
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import MAXIMUM, MINIMUM, SUM, Reducer
from plugjax.stablehlo.reduction import reduce_window

rules = RuleSet(__name__)


def _windowed(reducer: Reducer) -> Callable[..., Value]:
    def rule(
        ctx: EqnContext,
        x: Value,
        *,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        base_dilation: Sequence[int],
        window_dilation: Sequence[int],
        **_: Any,
    ) -> Value:
        (aval,), (out,) = ctx.avals_in, ctx.avals_out
        return reduce_window(
            reducer,
            x,
            reducer.initial(aval.dtype),
            aval,
            out,
            window=window_dimensions,
            padding=padding,
            strides=window_strides,
            base_dilation=base_dilation,
            window_dilation=window_dilation,
        )

    return rule


for _p, _reducer in (
    (lax.reduce_window_sum_p, SUM),
    (lax.reduce_window_max_p, MAXIMUM),
    (lax.reduce_window_min_p, MINIMUM),
):
    rules.define(lowering, _p)(_windowed(_reducer))
