"""Dot products over empty and over very long axes, of small floats, and of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import FLOAT32, DType
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.dot import CanonicalNumbers, CanonicalPrecision, dot_general_p
from plugjax.lax.dot_algorithm import DotAlgorithm, DotAlgorithmPreset
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.dot import algorithm_avals, mixed_dot
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import SUM
from plugjax_iree.lowering import vectors
from plugjax_iree.lowering.conversion import converted
from plugjax_iree.lowering.hardware import on_processor
from plugjax_iree.lowering.sums import LONGEST, accumulator, reduced, split
from plugjax_iree.workarounds.switch import is_on

rules = RuleSet(__name__)

# Longer sums are done in blocks; for shorter ones that costs more time than the accuracy is worth.
_LONGEST = 4 * LONGEST


@rules.define(lowering, dot_general_p, platform="iree")
def _dot_general(
    ctx: EqnContext,
    lhs: Value,
    rhs: Value,
    *,
    dimension_numbers: CanonicalNumbers,
    precision: CanonicalPrecision,
    preferred_element_type: DType | None,
) -> Value:
    (lhs_aval, rhs_aval), (out,) = ctx.avals_in, ctx.avals_out
    is_empty = 0 in lhs_aval.shape or 0 in rhs_aval.shape
    if is_empty and is_on("empty_contractions"):
        return ctx.constant(0, out)
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        left, right, total = algorithm_avals(ctx, precision)
        lhs = converted(ctx, lhs, lhs_aval, left.dtype)
        rhs = converted(ctx, rhs, rhs_aval, right.dtype)
        found = _product(lhs, rhs, left, right, total, dimension_numbers, None)
        return converted(ctx, found, total, out.dtype)
    by_vector = vectors.suits(lhs_aval, rhs_aval, dimension_numbers)
    if by_vector and on_processor(ctx) and is_on("vector_products"):
        (found,) = ctx.inline(
            vectors.program(lhs_aval, rhs_aval, dimension_numbers[0], out), [lhs, rhs]
        )
        return found
    return _product(lhs, rhs, lhs_aval, rhs_aval, out, dimension_numbers, precision)


def _product(
    lhs: Value,
    rhs: Value,
    lhs_aval: ShapedArray,
    rhs_aval: ShapedArray,
    out: ShapedArray,
    dimension_numbers: CanonicalNumbers,
    precision: CanonicalPrecision,
) -> Value:
    if _is_narrow(lhs_aval.dtype) and _is_narrow(rhs_aval.dtype):
        # IREE converts bfloat16 again for every product (measured: 512 x 512 x 512 in 709 ms, of float32
        # in 5 ms), even if the conversion is explicit. Behind a barrier it is done once. Products of float16 it adds in float16.
        wide = out.update(dtype=FLOAT32)
        lhs, rhs = _widened(lhs, lhs_aval), _widened(rhs, rhs_aval)
        lhs_aval, rhs_aval = lhs_aval.update(dtype=FLOAT32), rhs_aval.update(dtype=FLOAT32)
        found = _in_blocks(lhs, rhs, lhs_aval, rhs_aval, wide, dimension_numbers, precision)
        return convert(found, wide, out.dtype)
    lhs, lhs_aval = as_product(lhs, lhs_aval, out.dtype)
    rhs, rhs_aval = as_product(rhs, rhs_aval, out.dtype)
    return _in_blocks(lhs, rhs, lhs_aval, rhs_aval, out, dimension_numbers, precision)


def as_product(x: Value, aval: ShapedArray, dtype: DType) -> tuple[Value, ShapedArray]:
    """An unsigned operand in the product's dtype: IREE would widen it as if it was signed."""
    if aval.dtype.kind != "u" or not is_on("unsigned_factors"):
        return x, aval
    return convert(x, aval, dtype), aval.update(dtype=dtype)


def _is_narrow(dtype: DType) -> bool:
    return accumulator(dtype) != dtype


def _widened(x: Value, aval: ShapedArray) -> Value:
    wide = convert(x, aval, FLOAT32)
    return mlir.op("stablehlo.optimization_barrier", [wide.type], [wide]).result


def _in_blocks(
    lhs: Value,
    rhs: Value,
    lhs_aval: ShapedArray,
    rhs_aval: ShapedArray,
    out: ShapedArray,
    dimension_numbers: CanonicalNumbers,
    precision: CanonicalPrecision,
) -> Value:
    """A product whose longest contracted axis is cut into blocks, if it is very long: the sums of all blocks are added at last."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    sizes = [lhs_aval.shape[axis] for axis in lhs_contracting]
    is_short = max(sizes, default=0) <= _LONGEST or out.dtype.kind not in "fc"
    if is_short or not is_on("long_sums"):
        return mixed_dot(lhs, rhs, lhs_aval, rhs_aval, out, dimension_numbers, precision)
    place = sizes.index(max(sizes))
    one, other = lhs_contracting[place], rhs_contracting[place]
    lhs, lhs_aval = split(lhs, lhs_aval, one, LONGEST)
    rhs, rhs_aval = split(rhs, rhs_aval, other, LONGEST)
    numbers = (
        (_shifted(lhs_contracting, one), _shifted(rhs_contracting, other)),
        ((*_shifted(lhs_batch, one), one), (*_shifted(rhs_batch, other), other)),
    )
    axis = len(lhs_batch)
    count = lhs_aval.shape[one]
    parts = ShapedArray((*out.shape[:axis], count, *out.shape[axis:]), out.dtype)
    products = mixed_dot(lhs, rhs, lhs_aval, rhs_aval, parts, numbers, precision)
    return reduced(SUM, products, parts, (axis,))


def _shifted(axes: Sequence[int], cut: int) -> tuple[int, ...]:
    """Axes after one of them was cut in two; that axis is now its second part."""
    return tuple(axis + (axis >= cut) for axis in axes)
