"""The arithmetic of random numbers: the Threefry hash, and a fused multiply-add.

Reference:
    J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11, 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import Primitive, ShapedArray, Zero, add_any, aval_of, mul_p
from plugjax.extend.errors import DtypeError
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule
from plugjax.extend.transforms import Axis
from plugjax.lax.families import (
    FLOAT,
    broadcast_shapes_strict,
    elementwise,
    elementwise_batching,
    stretch,
    zero_derivative,
)

rules = RuleSet(__name__)

threefry2x32_p = Primitive("threefry2x32", multiple_results=True)
multiply_add_p = Primitive("multiply_add")

elementwise(rules, multiply_add_p, accepts=FLOAT)
zero_derivative(rules, threefry2x32_p)


def threefry2x32(key0: Any, key1: Any, x0: Any, x1: Any, /) -> list[Any]:
    """Elementwise hash of the 64-bit counter ``(x0, x1)`` under the 64-bit key ``(key0, key1)``.

    Shapes:
        key0, key1, x0, x1: uint32, of one rank or scalar, broadcast together -> two of ``[...]``, uint32.
    """
    return threefry2x32_p.bind(key0, key1, x0, x1)


def multiply_add(a: Any, b: Any, c: Any, /) -> Any:
    """Elementwise ``a * b + c``, with one rounding for float32 and float64 on machines with FMA.

    XLA contracts this expression inside a compiled loop. Without it, uniform random numbers would differ in the last
    bit.
    """
    return multiply_add_p.bind(a, b, c)


@rules.define(abstract_eval, threefry2x32_p)
def _threefry2x32_aval(*avals: ShapedArray) -> list[ShapedArray]:
    if any(a.dtype != np.uint32 for a in avals):
        found = ", ".join(a.str_short() for a in avals)
        raise DtypeError(f"lax.threefry2x32: arguments must have dtype uint32, got {found}.")
    result = ShapedArray(broadcast_shapes_strict("threefry2x32", avals), np.uint32)
    return [result, result]


_together = elementwise_batching(threefry2x32_p)


@rules.define(batching_rule, threefry2x32_p)
def _threefry2x32_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Any, list[int]]:
    out, dim = _together(axis, args, dims)
    return out, [dim, dim]


@rules.define(jvp_rule, multiply_add_p)
def _multiply_add_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    a, b, c = primals
    y = multiply_add(a, b, c)
    aval = aval_of(y)
    y_dot: Any = Zero(aval.to_tangent_aval())
    a_dot, b_dot, c_dot = tangents
    if type(a_dot) is not Zero:
        y_dot = add_any(y_dot, stretch(mul_p.bind(a_dot, b), aval))
    if type(b_dot) is not Zero:
        y_dot = add_any(y_dot, stretch(mul_p.bind(a, b_dot), aval))
    if type(c_dot) is not Zero:
        y_dot = add_any(y_dot, stretch(c_dot, aval))
    return y, y_dot
