"""Comparisons and choices.

A bool in an interval is a pair (certain, possible): whether it holds for all values between the bounds, and for some.
This is an interval with False below True. An uncertain choice gives the hull of the possible cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import Primitive, RuleSet, aval_of
from plugjax.lax.families import scalar
from plugjax_interval.enclosure import Interval, interval_rule
from plugjax_interval.families import exact

rules = RuleSet(__name__)

Compare = Callable[[Any, Any], Any]


def _ordering(primitive: Primitive, compare: Compare, upwards: bool) -> None:
    @rules.define(interval_rule, primitive)
    def _interval(x: Interval, y: Interval) -> Interval:
        if upwards:
            return Interval(compare(x.upper, y.lower), compare(x.lower, y.upper))
        return Interval(compare(x.lower, y.upper), compare(x.upper, y.lower))


_ordering(lax.lt_p, lax.lt, True)
_ordering(lax.le_p, lax.le, True)
_ordering(lax.gt_p, lax.gt, False)
_ordering(lax.ge_p, lax.ge, False)


@rules.define(interval_rule, lax.eq_p)
def _eq(x: Interval, y: Interval) -> Interval:
    # If two intervals enclose each other, all four bounds are equal.
    certain = lax.bitwise_and(lax.le(x.upper, y.lower), lax.ge(x.lower, y.upper))
    possible = lax.bitwise_and(lax.le(x.lower, y.upper), lax.ge(x.upper, y.lower))
    return Interval(certain, possible)


@rules.define(interval_rule, lax.ne_p)
def _ne(x: Interval, y: Interval) -> Interval:
    return _not(_eq(x, y))


def _only_bools(x: Interval, name: str) -> None:
    if aval_of(x.lower).dtype != np.bool_:
        raise TypeError(
            f"interval: bits of integers are not enclosed, got {name} of {aval_of(x.lower).str_short()}."
        )


@rules.define(interval_rule, lax.not_p)
def _not(x: Interval) -> Interval:
    _only_bools(x, "not")
    return Interval(lax.bitwise_not(x.upper), lax.bitwise_not(x.lower))


def _monotone_bits(primitive: Primitive) -> None:
    @rules.define(interval_rule, primitive)
    def _interval(x: Interval, y: Interval) -> Interval:
        _only_bools(x, primitive.name)
        return Interval(primitive.bind(x.lower, y.lower), primitive.bind(x.upper, y.upper))


_monotone_bits(lax.and_p)
_monotone_bits(lax.or_p)
exact(rules, lax.reduce_and_p, lax.reduce_or_p)


@rules.define(interval_rule, lax.is_finite_p)
def _is_finite(x: Interval) -> Interval:
    infinite = scalar(float("inf"), x.lower)
    some = lax.bitwise_and(lax.lt(x.lower, infinite), lax.gt(x.upper, lax.neg(infinite)))
    return Interval(lax.bitwise_and(lax.is_finite(x.lower), lax.is_finite(x.upper)), some)


@rules.define(interval_rule, lax.select_n_p)
def _select_n(which: Interval, *cases: Interval) -> Interval:
    if which.lower is which.upper:
        lower = lax.select_n(which.lower, *(case.lower for case in cases))
        return Interval(lower, lax.select_n(which.lower, *(case.upper for case in cases)))
    return hull_of_possible(which, cases)


def hull_of_possible(which: Interval, cases: Sequence[Interval]) -> Interval:
    """The hull of the cases whose number is in ``which``."""
    first, last = (lax.convert_element_type(bound, np.int32) for bound in which)
    lower, upper = cases[0]
    shape = aval_of(lower).shape
    if aval_of(first).shape != shape:
        first, last = lax.broadcast(first, shape), lax.broadcast(last, shape)
    found = lax.le(first, np.int32(0))
    for i, case in enumerate(cases[1:], 1):
        here = lax.bitwise_and(lax.le(first, np.int32(i)), lax.ge(last, np.int32(i)))
        least = lax.select(found, lax.min(lower, case.lower), case.lower)
        greatest = lax.select(found, lax.max(upper, case.upper), case.upper)
        lower, upper = lax.select(here, least, lower), lax.select(here, greatest, upper)
        found = lax.bitwise_or(found, here)
    return Interval(lower, upper)
