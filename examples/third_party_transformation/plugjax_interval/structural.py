"""Operations that move elements, conversions, reductions and contractions.

A sum of n terms, in any order, is off by at most n eps times the sum of their absolute values; twice that is the margin here,
which covers the rounding of the margin too. For contractions let x = x+ - x- be the positive and the negative part. Then
x y = x+ y+ + x- y- - x+ y- - x- y+, where each term increases in both factors: bounds of the terms bound the sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import RuleSet, aval_of
from plugjax.lax.families import scalar
from plugjax_interval.elementwise import absolute, reaches_zero
from plugjax_interval.enclosure import Interval, interval_rule
from plugjax_interval.families import exact
from plugjax_interval.rounding import by_margins, is_float, outward, unit

rules = RuleSet(__name__)

exact(
    rules,
    lax.broadcast_in_dim_p,
    lax.concatenate_p,
    lax.cummax_p,
    lax.cummin_p,
    lax.pad_p,
    lax.reduce_max_p,
    lax.reduce_min_p,
    lax.reshape_p,
    lax.rev_p,
    lax.slice_p,
    lax.split_p,
    lax.squeeze_p,
    lax.transpose_p,
)  # fmt: skip


def _check_indices(name: str, *indices: Interval) -> None:
    if any(x.lower is not x.upper for x in indices):
        raise TypeError(f"interval: the indices of {name} must be values, not intervals.")


@rules.define(interval_rule, lax.dynamic_slice_p)
def _dynamic_slice(x: Interval, *starts: Interval, **params: Any) -> Interval:
    _check_indices("dynamic_slice", *starts)
    places = [s.lower for s in starts]
    return Interval(*(lax.dynamic_slice_p.bind(bound, *places, **params) for bound in x))


@rules.define(interval_rule, lax.dynamic_update_slice_p)
def _dynamic_update_slice(
    x: Interval, update: Interval, *starts: Interval, **params: Any
) -> Interval:
    _check_indices("dynamic_update_slice", *starts)
    places = [s.lower for s in starts]
    pairs = zip(x, update, strict=True)
    bind = lax.dynamic_update_slice_p.bind
    return Interval(*(bind(a, b, *places, **params) for a, b in pairs))


@rules.define(interval_rule, lax.gather_p)
def _gather(x: Interval, indices: Interval, **params: Any) -> Interval:
    _check_indices("gather", indices)
    return Interval(*(lax.gather_p.bind(bound, indices.lower, **params) for bound in x))


@rules.define(interval_rule, lax.convert_element_type_p)
def _convert(x: Interval, *, new_dtype: Any, **params: Any) -> Interval:
    if new_dtype == np.bool_ and aval_of(x.lower).dtype != np.bool_:
        zero = scalar(0, x.lower)
        certain = lax.bitwise_not(reaches_zero(x))
        possible = lax.bitwise_or(lax.ne(x.lower, zero), lax.ne(x.upper, zero))
        return Interval(certain, possible)
    bind = lax.convert_element_type_p.bind
    lower, upper = (bind(bound, new_dtype=new_dtype, **params) for bound in x)
    same = aval_of(x.lower).dtype == new_dtype or aval_of(x.lower).dtype == np.bool_
    return Interval(lower, upper) if same else outward(lower, upper)


def _with_margin(lower: Any, upper: Any, magnitude: Any, terms: int) -> Interval:
    if not is_float(lower):
        return Interval(lower, upper)
    margin = lax.mul(magnitude, scalar(2 * (terms + 4) * unit(magnitude), magnitude))
    return by_margins(lower, upper, margin, margin)


@rules.define(interval_rule, lax.reduce_sum_p)
def _reduce_sum(x: Interval, *, axes: tuple[int, ...], **params: Any) -> Interval:
    bind = lax.reduce_sum_p.bind
    lower, upper, magnitude = (bind(v, axes=axes, **params) for v in (*x, absolute(x).upper))
    terms = math.prod(aval_of(x.lower).shape[axis] for axis in axes)
    return _with_margin(lower, upper, magnitude, terms)


@rules.define(interval_rule, lax.cumsum_p)
def _cumsum(x: Interval, *, axis: int, **params: Any) -> Interval:
    bind = lax.cumsum_p.bind
    lower, upper, magnitude = (bind(v, axis=axis, **params) for v in (*x, absolute(x).upper))
    return _with_margin(lower, upper, magnitude, aval_of(x.lower).shape[axis])


@rules.define(interval_rule, lax.dot_general_p)
def _dot_general(x: Interval, y: Interval, **params: Any) -> Interval:
    def dot(a: Any, b: Any) -> Any:
        return lax.dot_general_p.bind(a, b, **params)

    def part(v: Any) -> Any:
        return lax.max(v, scalar(0, v))

    x_plus, x_minus = (
        Interval(*map(part, x)),
        Interval(part(lax.neg(x.upper)), part(lax.neg(x.lower))),
    )
    y_plus, y_minus = (
        Interval(*map(part, y)),
        Interval(part(lax.neg(y.upper)), part(lax.neg(y.lower))),
    )

    def bound(a: int, b: int) -> Any:
        """The terms with a plus sign at bound ``a`` and those with a minus sign at bound ``b``."""
        gains = lax.add(dot(x_plus[a], y_plus[a]), dot(x_minus[a], y_minus[a]))
        return lax.sub(gains, lax.add(dot(x_plus[b], y_minus[b]), dot(x_minus[b], y_plus[b])))

    contracted, _ = params["dimension_numbers"]
    terms = math.prod(aval_of(x.lower).shape[axis] for axis in contracted[0])
    lower, upper = bound(0, 1), bound(1, 0)
    if not is_float(lower):
        return Interval(lower, upper)
    return _with_margin(lower, upper, dot(absolute(x).upper, absolute(y).upper), 4 * terms)
