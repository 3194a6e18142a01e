"""Lowering of the random number generator whose state is hidden in the compiler."""

from __future__ import annotations

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import INT32, is_integer
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.random_generators import rng_uniform_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, rng_uniform_p)
def _rng_uniform(ctx: EqnContext, a: Value, b: Value, *, shape: tuple[int, ...]) -> Value:
    (aval, _), (out,) = ctx.avals_in, ctx.avals_out
    dtype = out.dtype
    if is_integer(dtype) and dtype.itemsize < INT32.itemsize:
        # XLA has no generator for narrow integers; it ends the process.
        dtype = INT32
    bounds = [convert(v, aval, dtype) for v in (a, b)]
    sizes = mlir.constant(np.asarray(shape, np.int64))
    kind = {"rng_distribution": mlir.attribute("#stablehlo<rng_distribution UNIFORM>")}
    wide = ShapedArray(shape, dtype)
    numbers = mlir.value("stablehlo.rng", wide, [*bounds, sizes], kind)
    if not is_integer(dtype):
        # Rounding may reach the upper bound.
        last = mlir.value("chlo.next_after", aval, [b, a])
        numbers = mlir.value("stablehlo.minimum", wide, [numbers, mlir.broadcast(last, aval, wide)])
    return convert(numbers, wide, out.dtype)
