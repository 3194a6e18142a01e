"""Lowerings of reductions over axes, and of cumulative reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray, reduce_sum_p
from plugjax.extend.dtypes import BOOL, DType
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import reduction as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import (
    AND,
    MAXIMUM,
    MINIMUM,
    OR,
    PRODUCT,
    SUM,
    XOR,
    Reducer,
    extreme,
)
from plugjax.stablehlo.symbolic import dynamic_reduce_window

rules = RuleSet(__name__)


def reduce(reducer: Reducer, x: Value, aval: ShapedArray, axes: Sequence[int]) -> Value:
    """Reduce over axes, which are dropped."""
    shape = [size for axis, size in enumerate(aval.shape) if axis not in axes]
    types = [mlir.tensor(shape, aval.dtype)]
    attributes = {"dimensions": mlir.i64s(sorted(axes))}
    found = mlir.op("stablehlo.reduce", types, [x, reducer.initial(aval.dtype)], attributes, 1)
    scalar = mlir.tensor((), aval.dtype)
    mlir.fill_region(found.regions[0], [scalar, scalar], reducer.body(aval.dtype))
    return found.result


def _reduction(reducer: Reducer) -> Callable[..., Value]:
    def rule(ctx: EqnContext, x: Value, *, axes: tuple[int, ...], **_: Any) -> Value:
        return reduce(reducer, x, ctx.avals_in[0], axes)

    return rule


for _p, _reducer in (
    (reduce_sum_p, SUM),
    (lax.reduce_prod_p, PRODUCT),
    (lax.reduce_max_p, MAXIMUM),
    (lax.reduce_min_p, MINIMUM),
    (lax.reduce_and_p, AND),
    (lax.reduce_or_p, OR),
    (lax.reduce_xor_p, XOR),
):
    rules.define(lowering, _p)(_reduction(_reducer))


def _arg_extreme(direction: str, sign: int) -> Callable[..., Value]:
    """The lowering of ``argmax`` or ``argmin``: reduce pairs of values and indices.

    Args:
        direction: comparison by which a value wins.
        sign: sign of the value that loses against all others.
    """

    def rule(
        ctx: EqnContext, x: Value, *, axes: tuple[int, ...], index_dtype: DType, **_: Any
    ) -> Value:
        (aval,), (out,) = ctx.avals_in, ctx.avals_out
        index_dtype = out.dtype
        (axis,) = axes
        indices = mlir.value(
            "stablehlo.iota",
            ShapedArray(aval.shape, index_dtype),
            [],
            {"iota_dimension": mlir.i64(axis)},
        )
        initial = [ctx.scalar(extreme(aval.dtype, sign), aval.dtype), ctx.scalar(0, index_dtype)]
        types = [mlir.tensor(out.shape, aval.dtype), mlir.type_of(out)]
        attributes = {"dimensions": mlir.i64s([axis])}
        found = mlir.op("stablehlo.reduce", types, [x, indices, *initial], attributes, 1)
        value, index = ShapedArray((), aval.dtype), ShapedArray((), index_dtype)
        scalars = [mlir.type_of(value), mlir.type_of(index)]

        def better(x: Value, i: Value, y: Value, j: Value) -> list[Value]:
            # A nan wins over everything; among equal values the first wins.
            wins = _or(compare(direction, value, x, y), compare("NE", value, x, x))
            first = _and(compare("EQ", value, x, y), compare("LT", index, i, j))
            return [
                mlir.value("stablehlo.select", value, [wins, x, y]),
                mlir.value("stablehlo.select", index, [_or(wins, first), i, j]),
            ]

        mlir.fill_region(found.regions[0], scalars * 2, better)
        return found.results[1]

    return rule


argmax = rules.define(lowering, lax.argmax_p)(_arg_extreme("GT", -1))
argmin = rules.define(lowering, lax.argmin_p)(_arg_extreme("LT", 1))

_FLAG = ShapedArray((), BOOL)


def _or(a: Value, b: Value) -> Value:
    return mlir.value("stablehlo.or", _FLAG, [a, b])


def _and(a: Value, b: Value) -> Value:
    return mlir.value("stablehlo.and", _FLAG, [a, b])


class _LogSumExp(Reducer):
    """``log(exp(a) + exp(b))``, without overflow."""

    def body(self, dtype: DType) -> Callable[[Value, Value], list[Value]]:
        """The operation on two scalars."""
        aval = ShapedArray((), dtype)

        def apply(name: str, *operands: Value) -> Value:
            return mlir.value(f"stablehlo.{name}", aval, operands)

        def combine(a: Value, b: Value) -> list[Value]:
            difference = apply("subtract", a, b)
            smaller = apply("exponential", apply("negate", apply("abs", difference)))
            stable = apply("add", apply("maximum", a, b), apply("log_plus_one", smaller))
            # For inf - inf and nan the sum has the right infinity, or nan.
            undefined = compare("NE", aval, difference, difference)
            return [apply("select", undefined, apply("add", a, b), stable)]

        return combine


_LOG_SUM_EXP = _LogSumExp("", "", lambda d: -np.inf)


def reduce_window(
    reducer: Reducer,
    x: Value,
    initial: Value,
    aval: ShapedArray,
    out: ShapedArray,
    *,
    window: Sequence[int],
    padding: Sequence[tuple[int, int]],
    strides: Sequence[int] | None = None,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Value:
    """Reduce each window that moves over an array."""
    ones = (1,) * aval.ndim
    attributes = {
        "window_dimensions": mlir.i64s(window),
        "window_strides": mlir.i64s(strides or ones),
        "base_dilations": mlir.i64s(base_dilation or ones),
        "window_dilations": mlir.i64s(window_dilation or ones),
        "padding": mlir.pairs(padding),
    }
    if any(isinstance(each, mlir.SizedNumbers) for each in attributes.values()):
        return dynamic_reduce_window(
            x, initial, out, attributes, aval.dtype, reducer.body(aval.dtype)
        )
    found = mlir.op("stablehlo.reduce_window", [mlir.type_of(out)], [x, initial], attributes, 1)
    scalar = mlir.tensor((), aval.dtype)
    mlir.fill_region(found.regions[0], [scalar, scalar], reducer.body(aval.dtype))
    return found.result


def cumulative(reducer: Reducer, x: Value, aval: ShapedArray, *, axis: int, reverse: bool) -> Value:
    """Reduce each element with all before it along an axis, or with all after it."""
    if 0 in aval.shape:
        return x
    # A window as long as the axis; compilers recognise and rewrite it.
    size = aval.shape[axis]
    window = [1] * aval.ndim
    window[axis] = size
    padding = [(0, 0)] * aval.ndim
    padding[axis] = (0, size - 1) if reverse else (size - 1, 0)
    initial = reducer.initial(aval.dtype)
    return reduce_window(reducer, x, initial, aval, aval, window=window, padding=padding)


def _cumulative(reducer: Reducer) -> Callable[..., Value]:
    def rule(ctx: EqnContext, x: Value, *, axis: int, reverse: bool) -> Value:
        return cumulative(reducer, x, ctx.avals_in[0], axis=axis, reverse=reverse)

    return rule


for _p, _reducer in (
    (lax.cumsum_p, SUM),
    (lax.cumprod_p, PRODUCT),
    (lax.cummax_p, MAXIMUM),
    (lax.cummin_p, MINIMUM),
    (lax.cumlogsumexp_p, _LOG_SUM_EXP),
):
    rules.define(lowering, _p)(_cumulative(_reducer))
