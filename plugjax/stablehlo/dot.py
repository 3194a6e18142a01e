"""Lowering of dot products."""

from __future__ import annotations

from typing import Any

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import FLOAT8, DType, as_numpy_dtype
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.dot import (
    CanonicalNumbers,
    CanonicalPrecision,
    PrecisionPair,
    dot_general_p,
)
from plugjax.lax.dot_algorithm import (
    Algorithm,
    DotAlgorithm,
    DotAlgorithmPreset,
    algorithm_dtypes,
)
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.mlir import Attribute, Value

rules = RuleSet(__name__)


def precision_config(precision: PrecisionPair) -> Attribute:
    """The precisions of two operands as an attribute."""
    lhs, rhs = ("DEFAULT", "DEFAULT") if precision is None else (p.name for p in precision)
    return mlir.attribute(f"[#stablehlo<precision {lhs}>, #stablehlo<precision {rhs}>]")


@rules.define(lowering, dot_general_p)
def dot_general(
    ctx: EqnContext,
    lhs: Value,
    rhs: Value,
    *,
    dimension_numbers: CanonicalNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: DType | None,
) -> Value:
    """The dot product, as ``lax.dot_general``."""
    (lhs_aval, rhs_aval), (out,) = ctx.avals_in, ctx.avals_out
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        lhs_aval, rhs_aval, total = algorithm_avals(ctx, precision)
        lhs = convert(lhs, ctx.avals_in[0], lhs_aval.dtype)
        rhs = convert(rhs, ctx.avals_in[1], rhs_aval.dtype)
        # Processors have no such units, and XLA refuses the algorithm there.
        named = None if ctx.module.device_kind in ("", "cpu") else precision
        found = mixed_dot(lhs, rhs, lhs_aval, rhs_aval, total, dimension_numbers, named)
        return convert(found, total, out.dtype)
    return mixed_dot(lhs, rhs, lhs_aval, rhs_aval, out, dimension_numbers, precision)


def algorithm_avals(
    ctx: EqnContext, algorithm: Algorithm
) -> tuple[ShapedArray, ShapedArray, ShapedArray]:
    """Types of the operands and of the product of a dot product, in the dtypes of an algorithm."""
    (lhs, rhs), (out,) = ctx.avals_in, ctx.avals_out
    left, right, total = algorithm_dtypes(algorithm, lhs.dtype, rhs.dtype, out.dtype)
    return lhs.update(dtype=left), rhs.update(dtype=right), out.update(dtype=total)


def mixed_dot(
    lhs: Value,
    rhs: Value,
    lhs_aval: ShapedArray,
    rhs_aval: ShapedArray,
    out: ShapedArray,
    dimension_numbers: CanonicalNumbers,
    precision: CanonicalPrecision,
) -> Value:
    """The dot product of operands that may differ in dtype, as a value of type ``out``."""
    if lhs_aval.dtype != rhs_aval.dtype and not (
        lhs_aval.dtype in FLOAT8 and rhs_aval.dtype in FLOAT8
    ):
        lhs, rhs = convert(lhs, lhs_aval, out.dtype), convert(rhs, rhs_aval, out.dtype)
    return dot(lhs, rhs, out, dimension_numbers, precision)


def dot(
    lhs: Value,
    rhs: Value,
    out: ShapedArray,
    dimension_numbers: CanonicalNumbers,
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
    attributes: dict[str, Any] = {"dot_dimension_numbers": numbers}
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        attributes["precision_config"] = precision_config(None)
        algorithm = _algorithm(precision, lhs, rhs, out)
        if algorithm is not None:
            attributes["algorithm"] = algorithm
    else:
        attributes["precision_config"] = precision_config(precision)
    return mlir.value("stablehlo.dot_general", out, [lhs, rhs], attributes)


def _algorithm(algorithm: Algorithm, lhs: Value, rhs: Value, out: ShapedArray) -> Attribute | None:
    """The attribute that selects an algorithm of the hardware; none if the compiler may choose."""
    if isinstance(algorithm, DotAlgorithm):
        types = [str(mlir.element_type(as_numpy_dtype(d))) for d in algorithm[:3]]
        left, right, products = algorithm[3:6]
        imprecise = algorithm.allow_imprecise_accumulation
    else:
        if algorithm is DotAlgorithmPreset.DEFAULT:
            return None
        words = algorithm.name.lower().split("_")
        left = right = 1
        products = int(words[3][1:]) if words[-1].startswith("x") else 1
        imprecise = words[-1] == "accum"
        if words[0] == "any":
            types = [str(v.type.element_type) for v in (lhs, rhs)] + ["f32"]
        else:
            types = words[:3]
    return mlir.attribute(
        f"#stablehlo.dot_algorithm<lhs_precision_type = {types[0]}, rhs_precision_type = {types[1]}, "
        f"accumulation_type = {types[2]}, lhs_component_count = {left}, rhs_component_count = {right}, "
        f"num_primitive_operations = {products}, allow_imprecise_accumulation = {str(imprecise).lower()}>"
    )
