"""Dot products over nothing, and of small floats."""

from __future__ import annotations

from plugjax.core import RuleSet, ShapedArray, lowering
from plugjax.core.dtypes import CUSTOM_FLOATS, FLOAT32, DType
from plugjax.lax.dot import CanonicalPrecision, DotDimensionNumbers, dot_general_p
from plugjax.lax.dot_algorithm import DotAlgorithm, DotAlgorithmPreset
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.dot import algorithm_avals, dot, mixed_dot
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.conversion import converted

rules = RuleSet(__name__)


@rules.define(lowering, dot_general_p, platform="iree")
def _dot_general(
    ctx: EqnContext,
    lhs: Value,
    rhs: Value,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: DType | None,
) -> Value:
    (lhs_aval, rhs_aval), (out,) = ctx.avals_in, ctx.avals_out
    if 0 in lhs_aval.shape or 0 in rhs_aval.shape:
        # IREE 3.13 divides by the size of the contracted axis: the process dies of SIGFPE.
        return ctx.constant(0, out)
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        left, right, total = algorithm_avals(ctx, precision)
        lhs = converted(ctx, lhs, lhs_aval, left.dtype)
        rhs = converted(ctx, rhs, rhs_aval, right.dtype)
        found = _product(lhs, rhs, left, right, total, dimension_numbers, None)
        return converted(ctx, found, total, out.dtype)
    return _product(lhs, rhs, lhs_aval, rhs_aval, out, dimension_numbers, precision)


def _product(
    lhs: Value,
    rhs: Value,
    lhs_aval: ShapedArray,
    rhs_aval: ShapedArray,
    out: ShapedArray,
    dimension_numbers: DotDimensionNumbers,
    precision: CanonicalPrecision,
) -> Value:
    if lhs_aval.dtype not in CUSTOM_FLOATS or rhs_aval.dtype not in CUSTOM_FLOATS:
        return mixed_dot(lhs, rhs, lhs_aval, rhs_aval, out, dimension_numbers, precision)
    # IREE converts bfloat16 again for every product (measured: 512 x 512 x 512 in 709 ms, of float32
    # in 5 ms), also where the conversion is written out. Behind a barrier it is done once.
    wide = ShapedArray(out.shape, FLOAT32)
    operands = (_widened(lhs, lhs_aval), _widened(rhs, rhs_aval))
    return convert(dot(*operands, wide, dimension_numbers, precision), wide, out.dtype)


def _widened(x: Value, aval: ShapedArray) -> Value:
    wide = convert(x, aval, FLOAT32)
    return mlir.op("stablehlo.optimization_barrier", [wide.type], [wide]).result
