"""Real functions computed in float64: the roundings of narrower types, and IREE's approximations in them, do not add up.

IREE's compiler for Vulkan takes no float64: there they are computed in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import Primitive, ShapedArray
from plugjax.extend.dtypes import BOOL, FLOAT32, FLOAT64, is_float
from plugjax.extend.rules import RuleSet, lowering
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.elementwise import elementwise, stretched
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.hardware import has_float64

_BITS: dict[Any, Any] = {FLOAT64: np.dtype(np.int64), FLOAT32: np.dtype(np.int32)}


class Wide:
    """Arithmetic on values of one shape, in float64 where there is one.

    Attributes:
        aval: of the values.
        flags: of their comparisons.
    """

    def __init__(self, ctx: EqnContext, shape: tuple[int, ...]) -> None:
        self.ctx = ctx
        self.aval = ShapedArray(shape, FLOAT64 if has_float64(ctx) else FLOAT32)
        self.flags = ShapedArray(shape, BOOL)

    def number(self, value: float) -> Value:
        """A number, everywhere."""
        return self.ctx.constant(value, self.aval)

    def op(self, name: str, *operands: Value, aval: ShapedArray | None = None) -> Value:
        """An operation of StableHLO."""
        return mlir.value(f"stablehlo.{name}", aval or self.aval, operands)

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """``c0 + c1 x + c2 x**2 + ...``."""
        y = self.number(coefficients[-1])
        for c in coefficients[-2::-1]:
            y = self.op("add", self.op("multiply", y, x), self.number(c))
        return y

    def is_(self, direction: str, x: Value, y: Value) -> Value:
        """A comparison: ``EQ``, ``NE``, ``LT``, ``GT`` ..."""
        return compare(direction, self.aval, x, y)

    def both(self, x: Value, y: Value) -> Value:
        """Where two flags are set."""
        return self.op("and", x, y, aval=self.flags)

    def either(self, x: Value, y: Value) -> Value:
        """Where one of two flags is set."""
        return self.op("or", x, y, aval=self.flags)

    def where(self, flags: Value, x: Value, y: Value) -> Value:
        """The one or the other."""
        return self.op("select", flags, x, y)

    def is_negative(self, x: Value) -> Value:
        """Where the sign is set, that of -0.0 too."""
        bits = ShapedArray(self.aval.shape, _BITS[self.aval.dtype])
        return compare(
            "LT",
            bits,
            self.op("bitcast_convert", x, aval=bits),
            self.ctx.constant(0, bits),
        )

    def negated_where(self, flags: Value, x: Value) -> Value:
        """Negated in some places."""
        return self.where(flags, self.op("negate", x), x)

    def nan(self) -> Value:
        """Not a number."""
        return self.number(math.nan)


Formula = Callable[..., Value]


def define_wide(
    rules: RuleSet,
    primitive: Primitive,
    operation: str,
    formula: Formula,
    *,
    up_to: Any = FLOAT64,
    on_complex: Callable[..., Value] | None = None,
) -> None:
    """Lower an elementwise primitive on real numbers by a formula, in float64 where there is one.

    Args:
        rules: where to put the rule.
        primitive: the primitive.
        operation: what it is lowered to on other numbers.
        formula: ``(Wide, *operands) -> result``.
        up_to: the widest dtype to use the formula for: float64, or float32.
        on_complex: the lowering on complex numbers, if it is another.
    """
    general = elementwise(operation)

    @rules.define(lowering, primitive, platform="iree")
    def rule(ctx: EqnContext, *operands: Value, **params: Any) -> Value:
        (out,) = ctx.avals_out
        if on_complex is not None and out.dtype.kind == "c":
            return on_complex(ctx, *operands)
        if not is_float(out.dtype) or (out.dtype == FLOAT64 and up_to != FLOAT64):
            return general(ctx, *operands, **params)
        return computed_wide(ctx, formula, *operands)


def computed_wide(ctx: EqnContext, formula: Formula, *operands: Value) -> Value:
    """A formula of real operands, rounded to the result's dtype."""
    (out,) = ctx.avals_out
    wide = Wide(ctx, out.shape)
    operands = tuple(
        convert(x, ShapedArray(out.shape, v.aval.dtype), wide.aval.dtype)
        for x, v in zip(stretched(ctx, operands), ctx.eqn.invars, strict=True)
    )
    found = formula(wide, *operands)
    if out.dtype == wide.aval.dtype:
        return found
    # Through float32: IREE has no conversion to the narrowest types from float64.
    return convert(convert(found, wide.aval, FLOAT32), ShapedArray(out.shape, FLOAT32), out.dtype)
