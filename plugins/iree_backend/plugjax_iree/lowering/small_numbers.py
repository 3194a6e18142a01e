"""Functions of small numbers, to which 1 must not be added.

IREE 3.13 adds or subtracts it where it computes ``expm1``, ``log1p`` and hyperbolic functions of float64 numbers: ``expm1(1e-300)`` is 0. On Vulkan the
driver does so with logarithms of float32 numbers: ``log1p(-3e-8)`` is -6e-8 there.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from plugjax.extend.dtypes import FLOAT32, FLOAT64
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import elementwise
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.hardware import on_vulkan
from plugjax_iree.lowering.wide import Wide, computed_wide
from plugjax_iree.workarounds import is_on

# Terms of the series below that float32 and float64 see.
_TERMS = {FLOAT32: 5, FLOAT64: 11}


def _expm1(w: Wide, x: Value) -> Value:
    """``exp(x) - 1``, near 0 by the hyperbolic tangent of ``x / 2``."""
    one, half = w.number(1.0), w.op("tanh", w.op("multiply", x, w.number(0.5)))
    near = w.op("divide", w.op("add", half, half), w.op("subtract", one, half))
    far = w.op("subtract", w.op("exponential", x), one)
    return w.where(w.is_("LT", w.op("abs", x), one), near, far)


def _sinh(w: Wide, x: Value) -> Value:
    """The hyperbolic sine, likewise; from 1 on by exponentials of ``x / 2``, which do not overflow."""
    one, size = w.number(1.0), w.op("abs", x)
    small = w.op("tanh", w.op("multiply", x, w.number(0.5)))
    below = w.op("subtract", one, w.op("multiply", small, small))
    near = w.op("divide", w.op("add", small, small), below)
    root = w.op("exponential", w.op("multiply", size, w.number(0.5)))
    up = w.op("multiply", w.op("multiply", root, w.number(0.5)), root)
    down = w.op("divide", w.op("divide", w.number(0.5), root), root)
    far = w.negated_where(w.is_negative(x), w.op("subtract", up, down))
    return w.where(w.is_("LT", size, one), near, far)


def _log1p(w: Wide, x: Value) -> Value:
    """``log(1 + x)``, near 0 by the series of ``2 atanh(x / (2 + x))``.

    Formulas that subtract 1 again fail: drivers may simplify ``(1 + x) - 1``.
    """
    ratio = w.op("divide", x, w.op("add", x, w.number(2.0)))
    terms = [2 / (2 * k + 1) for k in range(_TERMS[w.aval.dtype])]
    series = w.polynomial(w.op("multiply", ratio, ratio), terms)
    # Between these the ratio is at most 0.17.
    near = w.both(w.is_("GT", x, w.number(-0.29)), w.is_("LT", x, w.number(0.41)))
    far = w.op("log", w.op("add", x, w.number(1.0)))
    return w.where(near, w.op("multiply", ratio, series), far)


def _asinh(w: Wide, x: Value) -> Value:
    """The inverse hyperbolic sine."""
    one, size = w.number(1.0), w.op("abs", x)
    square = w.op("multiply", size, size)
    root = w.op("sqrt", w.op("add", square, one))
    near = _log1p(w, w.op("add", size, w.op("divide", square, w.op("add", root, one))))
    far = w.op("add", w.op("log", size), w.number(math.log(2)))
    found = w.where(w.is_("GT", size, w.number(1e8)), far, near)
    return w.negated_where(w.is_negative(x), found)


def _acosh(w: Wide, x: Value) -> Value:
    """The inverse hyperbolic cosine."""
    above = w.op("subtract", x, w.number(1.0))
    root = w.op("multiply", w.op("sqrt", above), w.op("sqrt", w.op("add", x, w.number(1.0))))
    far = w.op("add", w.op("log", x), w.number(math.log(2)))
    return w.where(w.is_("GT", x, w.number(1e8)), far, _log1p(w, w.op("add", above, root)))


def _atanh(w: Wide, x: Value) -> Value:
    """The inverse hyperbolic tangent."""
    size = w.op("abs", x)
    ratio = w.op("divide", w.op("add", size, size), w.op("subtract", w.number(1.0), size))
    found = w.op("multiply", _log1p(w, ratio), w.number(0.5))
    return w.negated_where(w.is_negative(x), found)


def _lowering(operation: str, formula: Callable[[Wide, Value], Value]) -> Callable[..., Value]:
    """The lowering of a function of real numbers: the formula for float64 and on Vulkan, elsewhere the operation."""
    general = elementwise(operation)

    def lower(ctx: EqnContext, x: Value, **params: object) -> Value:
        is_inexact = (ctx.avals_in[0].dtype == FLOAT64 and is_on("small_numbers")) or (
            on_vulkan(ctx) and is_on("vulkan_logarithms")
        )
        return computed_wide(ctx, formula, x) if is_inexact else general(ctx, x, **params)

    return lower


expm1 = _lowering("stablehlo.exponential_minus_one", _expm1)
log1p = _lowering("stablehlo.log_plus_one", _log1p)
sinh, asinh = _lowering("chlo.sinh", _sinh), _lowering("chlo.asinh", _asinh)
acosh, atanh = _lowering("chlo.acosh", _acosh), _lowering("chlo.atanh", _atanh)
