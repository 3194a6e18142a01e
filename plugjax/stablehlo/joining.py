"""Lowerings of primitives that join arrays, cut them apart and pad them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import joining as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

PaddingConfig: TypeAlias = Sequence[tuple[int, int, int]]


@rules.define(lowering, lax.concatenate_p)
def _concatenate(ctx: EqnContext, *operands: Value, dimension: int) -> Value:
    attributes = {"dimension": mlir.i64(dimension)}
    return mlir.value("stablehlo.concatenate", ctx.avals_out[0], operands, attributes)


def padded(x: Value, padding_value: Value, out: ShapedArray, config: PaddingConfig) -> Value:
    """An array as a value of type ``out``, with (before, after, between) elements along each axis."""
    attributes = {
        "edge_padding_low": mlir.i64s([low for low, _, _ in config]),
        "edge_padding_high": mlir.i64s([high for _, high, _ in config]),
        "interior_padding": mlir.i64s([interior for _, _, interior in config]),
    }
    return mlir.value("stablehlo.pad", out, [x, padding_value], attributes)


@rules.define(lowering, lax.pad_p)
def _pad(
    ctx: EqnContext, x: Value, padding_value: Value, *, padding_config: PaddingConfig
) -> Value:
    return padded(x, padding_value, ctx.avals_out[0], padding_config)


@rules.define(lowering, lax.split_p)
def _split(ctx: EqnContext, x: Value, *, sizes: tuple[int, ...], axis: int) -> list[Value]:
    (aval,) = ctx.avals_in
    parts = []
    for stop, out in zip(accumulate(sizes), ctx.avals_out, strict=True):
        start, limit = [0] * aval.ndim, list(aval.shape)
        start[axis], limit[axis] = stop - out.shape[axis], stop
        parts.append(mlir.static_slice(x, out, start, limit))
    return parts


@rules.define(lowering, lax.stack_p)
def _stack(ctx: EqnContext, *operands: Value, axis: int) -> Value:
    (out,) = ctx.avals_out
    row = out.update(shape=(*out.shape[:axis], 1, *out.shape[axis + 1 :]))
    rows = [mlir.value("stablehlo.reshape", row, [x]) for x in operands]
    return mlir.value("stablehlo.concatenate", out, rows, {"dimension": mlir.i64(axis)})


@rules.define(lowering, lax.unstack_p)
def _unstack(ctx: EqnContext, x: Value, *, axis: int) -> list[Value]:
    (aval,) = ctx.avals_in
    row = aval.update(shape=(*aval.shape[:axis], 1, *aval.shape[axis + 1 :]))
    parts = []
    for place, out in enumerate(ctx.avals_out):
        start, limit = [0] * aval.ndim, list(aval.shape)
        start[axis], limit[axis] = place, place + 1
        part = mlir.static_slice(x, row, start, limit)
        parts.append(mlir.value("stablehlo.reshape", out, [part]))
    return parts


@rules.define(lowering, lax.slice_p)
def _slice(
    ctx: EqnContext,
    x: Value,
    *,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Value:
    return mlir.static_slice(x, ctx.avals_out[0], start_indices, limit_indices, strides)
