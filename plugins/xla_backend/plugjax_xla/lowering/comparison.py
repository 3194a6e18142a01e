"""Lowering of ``clz``.

XLA's compiler folds it wrongly for negative constants (-32 for an int32), and rightly for unsigned ones.
"""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.comparison import clz_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, clz_p, platform="xla")
def _clz(ctx: EqnContext, x: Value) -> Value:
    (aval,) = ctx.avals_in
    unsigned = aval.update(dtype=np.dtype(f"uint{8 * aval.dtype.itemsize}"))
    if unsigned == aval:
        return mlir.value("stablehlo.count_leading_zeros", aval, [x])
    bits = mlir.value("stablehlo.bitcast_convert", unsigned, [x])
    count = mlir.value("stablehlo.count_leading_zeros", unsigned, [bits])
    return mlir.value("stablehlo.bitcast_convert", aval, [count])
