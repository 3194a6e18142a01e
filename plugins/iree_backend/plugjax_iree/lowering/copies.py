"""Values in buffers of their own, as far as IREE 3.13 can be told: see ``control_flow.py``."""

from __future__ import annotations

import numpy as np

from plugjax.core import ShapedArray
from plugjax.core.dtypes import INT32
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

BARRIER = "stablehlo.optimization_barrier"


def opaque(x: Value) -> Value:
    """The same buffer, of which the compiler knows nothing."""
    return mlir.op(BARRIER, [x.type], [x]).result


def either(ctx: EqnContext, x: Value, y: Value) -> Value:
    """The first, but the compiler cannot know, nor that another such choice is like this one."""
    number = opaque(mlir.constant(np.int32(next(ctx.module.numbers))))
    first = compare("NE", ShapedArray((), INT32), number, mlir.constant(np.int32(0)))
    return mlir.op("stablehlo.select", [x.type], [first, x, y]).result


def copied(ctx: EqnContext, x: Value) -> Value:
    """The value in a buffer of its own."""
    return either(ctx, x, opaque(x))
