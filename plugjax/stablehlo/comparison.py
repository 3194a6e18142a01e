"""Lowerings of comparisons and of operations on bits."""

from __future__ import annotations

from collections.abc import Callable

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import BOOL, DType, is_inexact
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import comparison as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import define_elementwise, stretched
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

define_elementwise(
    rules,
    {
        lax.is_finite_p: "stablehlo.is_finite",
        lax.not_p: "stablehlo.not",
        lax.and_p: "stablehlo.and",
        lax.or_p: "stablehlo.or",
        lax.xor_p: "stablehlo.xor",
        lax.shift_left_p: "stablehlo.shift_left",
        lax.shift_right_logical_p: "stablehlo.shift_right_logical",
        lax.shift_right_arithmetic_p: "stablehlo.shift_right_arithmetic",
        lax.population_count_p: "stablehlo.popcnt",
        lax.clz_p: "stablehlo.count_leading_zeros",
    },
)


def compare(
    direction: str, aval: ShapedArray, x: Value, y: Value, *, total_order: bool = False
) -> Value:
    """Elementwise comparison of two values of type ``aval``.

    Args:
        direction: ``EQ``, ``NE``, ``GE``, ``GT``, ``LE`` or ``LT``.
        aval: type of both operands.
        x: left operand.
        y: right operand.
        total_order: order floats by their bits: -0 below 0, nan above everything.
    """
    attributes = {
        "comparison_direction": mlir.attribute(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": mlir.attribute(
            f"#stablehlo<comparison_type {_compare_type(aval.dtype, total_order)}>"
        ),
    }
    return mlir.op("stablehlo.compare", [mlir.tensor(aval.shape, BOOL)], [x, y], attributes).result


def _compare_type(dtype: DType, total_order: bool) -> str:
    if is_inexact(dtype):
        return "TOTALORDER" if total_order else "FLOAT"
    return "SIGNED" if dtype.name.startswith("int") else "UNSIGNED"


def _comparison(direction: str, total_order: bool = False) -> Callable[..., Value]:
    def rule(ctx: EqnContext, x: Value, y: Value) -> Value:
        x, y = stretched(ctx, (x, y))
        aval = ShapedArray(ctx.avals_out[0].shape, ctx.avals_in[0].dtype)
        return compare(direction, aval, x, y, total_order=total_order)

    return rule


for _p, _direction in (
    (lax.eq_p, "EQ"),
    (lax.ne_p, "NE"),
    (lax.ge_p, "GE"),
    (lax.gt_p, "GT"),
    (lax.le_p, "LE"),
    (lax.lt_p, "LT"),
):
    rules.define(lowering, _p)(_comparison(_direction))

for _p, _direction in ((lax.eq_to_p, "EQ"), (lax.le_to_p, "LE"), (lax.lt_to_p, "LT")):
    rules.define(lowering, _p)(_comparison(_direction, total_order=True))
