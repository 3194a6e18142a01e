"""Primitives that are linear, or linear in pieces: each coefficient is pushed through the derivative alone.

Their tangent does not depend on the values but by a choice (of an entry, a branch, an order), which is constant around almost every
value. Where values are equal, the choice is that of the jvp rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax import lax
from plugjax.experimental.jet.tracing import Terms, by_derivative, tangent_program, taylor
from plugjax.extend.core import Primitive, add_any_p, aval_of, device_put_p, eval_closed
from plugjax.extend.rules import RuleSet

rules = RuleSet(__name__)

LINEAR = (
    add_any_p, device_put_p, lax.add_p, lax.broadcast_in_dim_p, lax.clamp_p, lax.complex_p, lax.concatenate_p, lax.conj_p,
    lax.convert_element_type_p, lax.copy_p, lax.cummax_p, lax.cummin_p, lax.cumsum_p, lax.dynamic_slice_p,
    lax.dynamic_update_slice_p, lax.fft_p, lax.gather_p, lax.imag_p, lax.max_p, lax.min_p, lax.neg_p, lax.optimization_barrier_p,
    lax.pad_p, lax.real_p, lax.reduce_max_p, lax.reduce_min_p, lax.reduce_precision_p, lax.reduce_sum_p, lax.reduce_window_max_p,
    lax.reduce_window_min_p, lax.reduce_window_sum_p, lax.rem_p, lax.reshape_p, lax.rev_p, lax.scatter_add_p, lax.scatter_max_p,
    lax.scatter_min_p, lax.scatter_p, lax.scatter_sub_p, lax.select_n_p, lax.slice_p, lax.sort_p, lax.split_p, lax.squeeze_p,
    lax.sub_p, lax.top_k_p, lax.transpose_p,
)  # fmt: skip


def push_terms(
    primitive: Primitive,
    order: int,
    primals: Sequence[Any],
    series: Sequence[Terms],
    params: dict[str, Any],
) -> tuple[Any, Any]:
    """Each coefficient of the result is the tangent along those of the operands."""
    outs = primitive.bind(*primals, **params)
    nonzeros = [terms is not None for terms in series]
    program, nonzero_out = tangent_program(primitive, primals, nonzeros, params)
    columns = zip(*(terms for terms in series if terms is not None), strict=True)
    found = [eval_closed(program, *primals, *column) for column in columns]
    moving = iter(list(terms) for terms in zip(*found, strict=True))
    result = [next(moving) if nz else None for nz in nonzero_out]
    return (outs, result) if primitive.multiple_results else (outs, result[0])


def _linear(primitive: Primitive) -> None:
    @rules.define(taylor, primitive)
    def _push(
        order: int, primals: Sequence[Any], series: Sequence[Terms], **params: Any
    ) -> tuple[Any, Any]:
        return push_terms(primitive, order, primals, series, params)


for _primitive in LINEAR:
    _linear(_primitive)


@rules.define(taylor, lax.abs_p)
def _abs(order: int, primals: Sequence[Any], series: Sequence[Terms], **params: Any) -> Any:
    # The size of a complex number is no piecewise linear function of it.
    rule = by_derivative if aval_of(primals[0]).dtype.kind == "c" else push_terms
    return rule(lax.abs_p, order, primals, series, params)


def _bilinear(primitive: Primitive) -> None:
    @rules.define(taylor, primitive)
    def _push(
        order: int, primals: Sequence[Any], series: Sequence[Terms], **params: Any
    ) -> tuple[Any, Any]:
        (x, y), (xs, ys) = primals, series
        out = primitive.bind(x, y, **params)
        if ys is None or xs is None:
            return push_terms(primitive, order, primals, series, params)
        xs, ys = [x, *xs], [y, *ys]
        terms = []
        for k in range(1, order + 1):
            total = primitive.bind(xs[0], ys[k], **params)
            for j in range(1, k + 1):
                total = lax.add_p.bind(total, primitive.bind(xs[j], ys[k - j], **params))
            terms.append(total)
        return out, terms


for _primitive in (lax.conv_general_dilated_p, lax.dot_general_p, lax.mul_p):
    _bilinear(_primitive)
