"""Periodic functions.

sin and cos take their extremes at the ends of an interval, or are 1 or -1 where the interval contains a peak or a
trough. With t = x / 2 pi, peaks lie at t = k + phase for whole k, so [t1, t2] contains one if ceil(t1 - phase) <=
floor(t2 - phase). The ends are moved outwards by more than their rounding, so at worst a peak is assumed where there is
none. For tan, poles take the place of peaks.
"""

from __future__ import annotations

import math
from typing import Any

from plugjax import lax
from plugjax.extend import Primitive, RuleSet
from plugjax.lax.families import scalar
from plugjax_interval.elementwise import absolute, everything_where, hull
from plugjax_interval.enclosure import Interval, interval_rule
from plugjax_interval.families import ULPS, within
from plugjax_interval.rounding import outward, unit

rules = RuleSet(__name__)


def _contains(x: Interval, phase: float, period: float) -> Any:
    """Whether the interval contains ``(k + phase) * period`` for an integer k."""

    def turns(bound: Any, direction: int) -> Any:
        t = lax.mul(bound, scalar(1 / period, bound))
        slack = scalar(4 * unit(bound), bound)
        margin = lax.mul(lax.add(lax.abs(t), scalar(1, t)), slack)
        return lax.add(lax.sub(t, scalar(phase, t)), lax.mul(margin, scalar(direction, t)))

    return lax.le(lax.ceil(turns(x.lower, -1)), lax.floor(turns(x.upper, 1)))


def _wave(primitive: Primitive, peak: float) -> None:
    @rules.define(interval_rule, primitive)
    def _interval(x: Interval, **params: Any) -> Interval:
        at_ends = hull([primitive.bind(bound, **params) for bound in x])
        found = within(outward(*at_ends, ulps=ULPS), -1.0, 1.0)
        one = lax.full_like(found.lower, scalar(1, found.lower))
        return Interval(
            lax.select(_contains(x, peak - 0.5, 2 * math.pi), lax.neg(one), found.lower),
            lax.select(_contains(x, peak, 2 * math.pi), one, found.upper),
        )


_wave(lax.cos_p, 0.0)
_wave(lax.sin_p, 0.25)


@rules.define(interval_rule, lax.tan_p)
def _tan(x: Interval, **params: Any) -> Interval:
    found = outward(*(lax.tan_p.bind(bound, **params) for bound in x), ulps=ULPS)
    return everything_where(_contains(x, 0.5, math.pi), found)


@rules.define(interval_rule, lax.cosh_p)
def _cosh(x: Interval, **params: Any) -> Interval:
    # Even, and increasing away from 0.
    found = outward(*(lax.cosh_p.bind(bound, **params) for bound in absolute(x)), ulps=ULPS)
    return Interval(lax.max(found.lower, scalar(1, found.lower)), found.upper)
