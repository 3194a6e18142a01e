"""Lowerings of sorting and ``top_k``."""

from __future__ import annotations

import math

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import BOOL, is_float
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import sorting as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.complex import real_aval
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

_FLAG = ShapedArray((), BOOL)


@rules.define(lowering, lax.sort_p)
def _sort(
    ctx: EqnContext, *operands: Value, dimension: int, is_stable: bool, num_keys: int
) -> list[Value]:
    types = [mlir.type_of(aval) for aval in ctx.avals_out]
    attributes = {"dimension": mlir.i64(dimension), "is_stable": mlir.boolean(is_stable)}
    sort = mlir.op("stablehlo.sort", types, operands, attributes, 1)
    scalars = [ShapedArray((), aval.dtype) for aval in ctx.avals_in]

    def less(*pairs: Value) -> list[Value]:
        """Lexicographic comparison of the keys of two rows."""
        keys = []
        for i, aval in enumerate(scalars[:num_keys]):
            keys.extend(_keys(aval, pairs[2 * i], pairs[2 * i + 1]))
        (aval, x, y), *more_significant = reversed(keys)
        result = compare("LT", aval, x, y, total_order=True)
        for aval, x, y in more_significant:
            equal = compare("EQ", aval, x, y, total_order=True)
            tie = mlir.value("stablehlo.and", _FLAG, [equal, result])
            lower = compare("LT", aval, x, y, total_order=True)
            result = mlir.value("stablehlo.or", _FLAG, [lower, tie])
        return [result]

    types_of_pairs = [mlir.type_of(aval) for aval in scalars for _ in range(2)]
    mlir.fill_region(sort.regions[0], types_of_pairs, less)
    return list(sort.results)


def _keys(aval: ShapedArray, x: Value, y: Value) -> list[tuple[ShapedArray, Value, Value]]:
    """Sort keys of two elements: for complex numbers the real parts, then the imaginary parts."""
    if aval.dtype.kind != "c":
        return [(aval, _canonical(aval, x), _canonical(aval, y))]
    part = real_aval(aval)

    def part_of(v: Value, name: str) -> Value:
        return _canonical(part, mlir.value(f"stablehlo.{name}", part, [v]))

    return [(part, part_of(x, name), part_of(y, name)) for name in ("real", "imag")]


def _canonical(aval: ShapedArray, x: Value) -> Value:
    """A float with one zero and one nan: the total order would distinguish their bit patterns."""
    if not is_float(aval.dtype):
        return x
    zero = mlir.constant(aval.dtype.type(0))
    x = mlir.value("stablehlo.select", aval, [compare("EQ", aval, x, zero), zero, x])
    nan = mlir.constant(aval.dtype.type(math.nan))
    return mlir.value("stablehlo.select", aval, [compare("NE", aval, x, x), nan, x])


@rules.define(lowering, lax.top_k_p)
def _top_k(ctx: EqnContext, x: Value, *, k: int) -> list[Value]:
    types = [mlir.type_of(aval) for aval in ctx.avals_out]
    return list(mlir.op("chlo.top_k", types, [x], {"k": mlir.i64(k)}).results)
