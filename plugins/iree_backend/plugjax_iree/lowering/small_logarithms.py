"""Logarithms of numbers near 1 on Vulkan, where the driver adds 1 before it takes them: ``log1p(-3e-8)`` is -6e-8 there."""

from __future__ import annotations

import math
from collections.abc import Callable

from plugjax.extend.dtypes import FLOAT64
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import elementwise
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.hardware import has_float64
from plugjax_iree.lowering.wide import Wide, computed_wide
from plugjax_iree.workarounds import is_on


def log1p(w: Wide, x: Value) -> Value:
    """``log(1 + x)``, near 0 by the series of ``2 atanh(x / (2 + x))``.

    Formulas that subtract 1 again fail: drivers may simplify ``(1 + x) - 1``.
    """
    ratio = w.op("divide", x, w.op("add", x, w.number(2.0)))
    series = w.polynomial(w.op("multiply", ratio, ratio), [2 / k for k in range(1, 11, 2)])
    # Between these the ratio is at most 0.17.
    near = w.both(w.is_("GT", x, w.number(-0.29)), w.is_("LT", x, w.number(0.41)))
    far = w.op("log", w.op("add", x, w.number(1.0)))
    return w.where(near, w.op("multiply", ratio, series), far)


def asinh(w: Wide, x: Value) -> Value:
    """The inverse hyperbolic sine."""
    one, size = w.number(1.0), w.op("abs", x)
    square = w.op("multiply", size, size)
    root = w.op("sqrt", w.op("add", square, one))
    near = log1p(w, w.op("add", size, w.op("divide", square, w.op("add", root, one))))
    far = w.op("add", w.op("log", size), w.number(math.log(2)))
    found = w.where(w.is_("GT", size, w.number(1e8)), far, near)
    return w.negated_where(w.is_negative(x), found)


def atanh(w: Wide, x: Value) -> Value:
    """The inverse hyperbolic tangent."""
    size = w.op("abs", x)
    ratio = w.op("divide", w.op("add", size, size), w.op("subtract", w.number(1.0), size))
    found = w.op("multiply", log1p(w, ratio), w.number(0.5))
    return w.negated_where(w.is_negative(x), found)


def real(operation: str, formula: Callable[[Wide, Value], Value]) -> Callable[..., Value]:
    """The lowering of a function of real numbers: the formula on Vulkan, elsewhere the operation."""
    general = elementwise(operation)

    def lower(ctx: EqnContext, x: Value, **params: object) -> Value:
        others = has_float64(ctx) or ctx.avals_in[0].dtype == FLOAT64
        if others or not is_on("vulkan_logarithms"):
            return general(ctx, x, **params)
        return computed_wide(ctx, formula, x)

    return lower
