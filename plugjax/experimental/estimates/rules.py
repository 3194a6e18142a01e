"""Estimates of the primitives of lax: those of JAX, so that numbers can be compared.

Where nothing else is said, an equation counts nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plugjax import lax
from plugjax.experimental.estimates.results import (
    RooflineResult,
    RooflineRule,
    RooflineRuleContext,
    RooflineShape,
    roofline_rule,
)
from plugjax.extend.core import ClosedJaxpr, Primitive, add_any_p
from plugjax.extend.rules import RuleSet
from plugjax.lax.callback import io_callback_p, pure_callback_p
from plugjax.lax.debug_callback import debug_callback_p, debug_print_p

rules = RuleSet(__name__)

Context = RooflineRuleContext

# A product and a sum.
_FMA = 2


def _result(ctx: Context) -> RooflineShape:
    """The shape of the first result."""
    return RooflineShape.from_aval(ctx.avals_out[0])


def _moved(shapes: Sequence[RooflineShape]) -> int:
    return sum(shape.bytes for shape in shapes)


_UNARY = (
    "abs", "acos", "asin", "atan", "bessel_i0e", "bessel_i1e", "cbrt", "ceil", "conj", "cos", "cosh", "digamma", "erf", "erf_inv",
    "erfc", "exp", "expm1", "floor", "imag", "integer_pow", "is_finite", "lgamma", "log", "log1p", "logistic", "neg", "not", "real",
    "round", "rsqrt", "sign", "sin", "sinh", "sqrt", "square", "tan",
)  # fmt: skip
_BINARY = (
    "add", "and", "div", "eq", "ge", "gt", "le", "lt", "max", "min", "mul", "ne", "or", "rem", "sub", "xor",
)  # fmt: skip
_CUMULATIVE = ("cummax", "cummin", "cumprod", "cumsum")
_SCATTERS = ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub")


def _named(*names: str) -> list[Primitive]:
    return [getattr(lax, f"{name}_p") for name in names]


@rules.define(roofline_rule, *_named(*_UNARY))
def _unary(ctx: Context, x: RooflineShape, **_: Any) -> RooflineResult:
    out = _result(ctx)
    return RooflineResult(unfused_flops=x.size, unfused_hbm_bytes=_moved([x, out]))


@rules.define(roofline_rule, *_named(*_BINARY))
def _binary(ctx: Context, x: RooflineShape, y: RooflineShape, **_: Any) -> RooflineResult:
    out = _result(ctx)
    return RooflineResult(unfused_flops=out.size, unfused_hbm_bytes=_moved([x, y, out]))


@rules.define(roofline_rule, *_named(*_CUMULATIVE))
def _cumulative(ctx: Context, x: RooflineShape, *, axis: int, **_: Any) -> RooflineResult:
    out = _result(ctx)
    return RooflineResult(unfused_flops=x.shape[axis], unfused_hbm_bytes=_moved([x, out]))


@rules.define(roofline_rule, lax.cumlogsumexp_p)
def _cumlogsumexp(ctx: Context, x: RooflineShape, *, axis: int, **_: Any) -> RooflineResult:
    # An exponential and a sum for each.
    out = _result(ctx)
    return RooflineResult(unfused_flops=2 * x.shape[axis], unfused_hbm_bytes=_moved([x, out]))


@rules.define(roofline_rule, lax.dot_general_p)
def _dot_general(
    ctx: Context, lhs: RooflineShape, rhs: RooflineShape, *, dimension_numbers: Any, **_: Any
) -> RooflineResult:
    (contracted, _), (batch, _) = dimension_numbers
    out = _result(ctx)
    shared = math.prod(lhs.shape[i] for i in (*contracted, *batch))
    flops = int(_FMA * lhs.size * rhs.size / shared)
    moved = 0 if ctx.pin_lhs_in_vmem else lhs.bytes + out.bytes
    moved += 0 if ctx.pin_rhs_in_vmem else rhs.bytes
    return RooflineResult(
        flops=flops, unfused_flops=flops, hbm_bytes=moved, unfused_hbm_bytes=moved
    )


def _valid_positions(
    stride: int,
    lhs_dilation: int,
    rhs_dilation: int,
    kernel: int,
    size: int,
    out: int,
    low: int,
) -> int:
    """How many pairs of an element of the kernel and one of the result, along one axis, meet an element of the operand."""
    count = 0
    for k in range(kernel):
        for place in range(out):
            index, rest = divmod(place * stride - low + k * rhs_dilation, lhs_dilation)
            count += rest == 0 and 0 <= index < size
    return count


@rules.define(roofline_rule, lax.conv_general_dilated_p)
def _convolution(
    ctx: Context,
    lhs: RooflineShape,
    rhs: RooflineShape,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    batch_group_count: int,
    **_: Any,
) -> RooflineResult:
    out = _result(ctx)
    numbers = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    positions = math.prod(
        _valid_positions(
            window_strides[d],
            lhs_dilation[d],
            rhs_dilation[d],
            rhs.shape[numbers.rhs_spec[2 + d]],
            lhs.shape[numbers.lhs_spec[2 + d]],
            out.shape[numbers.out_spec[2 + d]],
            padding[d][0],
        )
        for d in range(len(window_strides))
    )
    batch = lhs.shape[numbers.lhs_spec[0]] / batch_group_count
    features = rhs.shape[numbers.rhs_spec[1]] * out.shape[numbers.out_spec[1]]
    return RooflineResult(
        unfused_flops=int(features * batch * positions * _FMA),
        unfused_hbm_bytes=_moved([lhs, rhs, out]),
    )


@rules.define(roofline_rule, lax.gather_p)
def _gather(
    ctx: Context, _: RooflineShape, indices: RooflineShape, *, mode: Any, **__: Any
) -> RooflineResult:
    out = _result(ctx)
    # Whether an index is within bounds takes four operations; what is chosen by it, one for each element.
    fills = mode == lax.GatherScatterMode.FILL_OR_DROP
    return RooflineResult(
        unfused_flops=4 * indices.size + out.size if fills else 0,
        unfused_hbm_bytes=2 * out.bytes + indices.bytes,
    )


@rules.define(roofline_rule, *_named(*_SCATTERS))
def _scatter(
    ctx: Context,
    _: RooflineShape,
    indices: RooflineShape,
    updates: RooflineShape,
    **params: Any,
) -> RooflineResult:
    each = 0
    if ctx.primitive is not lax.scatter_p:
        each = 1
    elif isinstance(program := params.get("update_jaxpr"), ClosedJaxpr):
        each = len(program.jaxpr.eqns)
    return RooflineResult(
        unfused_flops=each * updates.size,
        unfused_hbm_bytes=3 * updates.bytes + indices.bytes,
    )


@rules.define(roofline_rule, lax.reduce_sum_p)
def _reduce_sum(ctx: Context, x: RooflineShape, **_: Any) -> RooflineResult:
    out = _result(ctx)
    return RooflineResult(unfused_flops=x.size - out.size, unfused_hbm_bytes=_moved([x, out]))


@rules.define(roofline_rule, lax.select_n_p)
def _select(ctx: Context, which: RooflineShape, *_: RooflineShape, **__: Any) -> RooflineResult:
    out = _result(ctx)
    return RooflineResult(unfused_flops=out.size, unfused_hbm_bytes=_moved([which, out]))


@rules.define(roofline_rule, pure_callback_p, io_callback_p)
def _callback(ctx: Context, *shapes: RooflineShape, **_: Any) -> RooflineResult:
    return RooflineResult(
        unfused_hbm_bytes=_moved(shapes) + RooflineShape.total_bytes(ctx.avals_out)
    )


@rules.define(roofline_rule, debug_callback_p)
def _debug_callback(ctx: Context, *shapes: RooflineShape, **_: Any) -> RooflineResult:
    return RooflineResult(unfused_hbm_bytes=_moved(shapes))


def _free(ctx: Context, *_: RooflineShape, **__: Any) -> RooflineResult:
    return RooflineResult.zeros()


_known = {rule.primitive for rule in rules.rules}
_others: dict[Primitive, RooflineRule] = {
    value: _free for value in vars(lax).values() if isinstance(value, Primitive)
}
_others.update({add_any_p: _free, debug_print_p: _free})
for _primitive in _others:
    if _primitive not in _known:
        rules.define(roofline_rule, _primitive)(_free)
