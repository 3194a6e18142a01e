"""Lowerings of reductions by arbitrary operations, and of reductions over moving windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import windowed as lax
from plugjax.lax.folds import reduce_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import MAXIMUM, MINIMUM, SUM, Reducer
from plugjax.stablehlo.reduction import reduce_window

rules = RuleSet(__name__)


def windowed(reducer: Reducer) -> Callable[..., Value]:
    """The lowering of a window reduction by a named operation."""

    def rule(
        ctx: EqnContext,
        x: Value,
        *,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        base_dilation: Sequence[int],
        window_dilation: Sequence[int],
    ) -> Value:
        (aval,), (out,) = ctx.avals_in, ctx.avals_out
        if 0 in aval.shape or 0 in out.shape:
            return mlir.constant(np.asarray(reducer.neutral(aval.dtype), aval.dtype), out.shape)
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
    rules.define(lowering, _p)(windowed(_reducer))


def _with_program(
    ctx: EqnContext,
    name: str,
    operands: Sequence[Value],
    jaxpr: ClosedJaxpr,
    attributes: dict[str, Any],
) -> list[Value]:
    """An operation whose region combines scalars by a program."""
    types = [mlir.type_of(a) for a in ctx.avals_out]
    found = mlir.op(name, types, list(operands), attributes, 1)
    scalars = [mlir.type_of(v.aval) for v in jaxpr.jaxpr.invars]
    mlir.fill_region(found.regions[0], scalars, lambda *xs: ctx.inline(jaxpr, xs))
    return list(found.results)


def _repeated(ctx: EqnContext, inits: Sequence[Value]) -> list[Value]:
    """Repeated initial values, if there is nothing to combine them with."""
    avals = ctx.avals_in[len(inits) :]
    return [
        mlir.broadcast(v, a, out) for v, a, out in zip(inits, avals, ctx.avals_out, strict=True)
    ]


@rules.define(lowering, reduce_p)
def _reduce(
    ctx: EqnContext, *operands: Value, jaxpr: ClosedJaxpr, dimensions: Sequence[int], **_: Any
) -> list[Value]:
    count = len(operands) // 2
    if 0 in ctx.avals_in[0].shape:
        return _repeated(ctx, operands[count:])
    attributes = {"dimensions": mlir.i64s(sorted(dimensions))}
    return _with_program(ctx, "stablehlo.reduce", operands, jaxpr, attributes)


@rules.define(lowering, lax.reduce_window_p)
def _reduce_window(
    ctx: EqnContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> list[Value]:
    count = len(operands) // 2
    if 0 in ctx.avals_in[0].shape or 0 in ctx.avals_out[0].shape:
        return _repeated(ctx, operands[count:])
    attributes = {
        "window_dimensions": mlir.i64s(window_dimensions),
        "window_strides": mlir.i64s(window_strides),
        "base_dilations": mlir.i64s(base_dilation),
        "window_dilations": mlir.i64s(window_dilation),
        "padding": mlir.pairs(padding),
    }
    return _with_program(ctx, "stablehlo.reduce_window", operands, jaxpr, attributes)
