"""Lowering of dot products."""

from __future__ import annotations

from typing import Any

from plugjax.core.aval import ShapedArray
from plugjax.core.dtypes import FLOAT8, DType
from plugjax.core.rules import RuleSet, lowering
from plugjax.lax.dot import CanonicalPrecision, DotDimensionNumbers, dot_general_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.mlir import Attribute, Value

rules = RuleSet(__name__)


def precision_config(precision: CanonicalPrecision) -> Attribute:
    """The precisions of two operands as an attribute."""
    lhs, rhs = ("DEFAULT", "DEFAULT") if precision is None else (p.name for p in precision)
    return mlir.attribute(f"[#stablehlo<precision {lhs}>, #stablehlo<precision {rhs}>]")


@rules.define(lowering, dot_general_p)
def dot_general(
    ctx: EqnContext,
    lhs: Value,
    rhs: Value,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: DType | None,
) -> Value:
    """The dot product, as ``lax.dot_general``."""
    (lhs_aval, rhs_aval), (out,) = ctx.avals_in, ctx.avals_out
    if lhs_aval.dtype != rhs_aval.dtype and not (
        lhs_aval.dtype in FLOAT8 and rhs_aval.dtype in FLOAT8
    ):
        lhs, rhs = convert(lhs, lhs_aval, out.dtype), convert(rhs, rhs_aval, out.dtype)
    return dot(lhs, rhs, out, dimension_numbers, precision)


def dot(
    lhs: Value,
    rhs: Value,
    out: ShapedArray,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
) -> Value:
    """The dot product as a value of type ``out``."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    numbers = mlir.attribute(
        f"#stablehlo.dot<lhs_batching_dimensions = {list(lhs_batch)}, "
        f"rhs_batching_dimensions = {list(rhs_batch)}, "
        f"lhs_contracting_dimensions = {list(lhs_contracting)}, "
        f"rhs_contracting_dimensions = {list(rhs_contracting)}>"
    )
    attributes: dict[str, Any] = {
        "dot_dimension_numbers": numbers,
        "precision_config": precision_config(precision),
    }
    return mlir.value("stablehlo.dot_general", out, [lhs, rhs], attributes)
