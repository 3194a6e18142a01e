"""Families of rules: monotone functions, and operations that only move elements.

A function that increases on its domain maps [a, b] onto [f(a), f(b)], one that decreases onto [f(b), f(a)]. Points
outside the domain have no value, so they do not count: an interval that reaches beyond an end of the domain is cut off
there, and the bound is the function's limit at that end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from plugjax import lax
from plugjax.extend import Primitive, RuleSet
from plugjax.lax.families import scalar
from plugjax_interval.enclosure import Interval, interval_rule
from plugjax_interval.rounding import is_float, outward

INFINITE = float("inf")
# Assumed error of the backends' elementary functions: IREE's cbrt is 11 units off, its atan 41.
ULPS = 16


class Domain(NamedTuple):
    """The domain of a function, and its limits at both ends.

    Ends are rounded inwards and limits outwards if they are not representable in every dtype.
    """

    start: float = -INFINITE
    stop: float = INFINITE
    at_start: float = -INFINITE
    at_stop: float = INFINITE


EVERYWHERE = Domain()


def increasing(
    rules: RuleSet, primitive: Primitive, domain: Domain = EVERYWHERE, ulps: float = ULPS
) -> None:
    """The rule of an elementwise function of one operand that increases.

    Args:
        rules: the rule set that gets it.
        primitive: the function.
        domain: its domain and limits.
        ulps: bound of the error of computed values, in units in the last place.
    """

    @rules.define(interval_rule, primitive)
    def _interval(x: Interval, **params: Any) -> Interval:
        lower, upper = (_value(primitive, bound, domain, params) for bound in x)
        found = outward(lower, upper, ulps)
        return within(found, domain.at_start, domain.at_stop)


def decreasing(rules: RuleSet, primitive: Primitive, domain: Domain, ulps: float = ULPS) -> None:
    """As :func:`increasing`, for a function that decreases from ``at_start`` to ``at_stop``."""

    @rules.define(interval_rule, primitive)
    def _interval(x: Interval, **params: Any) -> Interval:
        upper, lower = (_value(primitive, bound, domain, params) for bound in x)
        found = outward(lower, upper, ulps)
        return within(found, domain.at_stop, domain.at_start)


def _value(primitive: Primitive, x: Any, domain: Domain, params: dict[str, Any]) -> Any:
    """The function at ``x``, and its limits beyond the ends of the domain."""
    inside = x
    middle = lax.full_like(x, scalar(_inner_point(domain), x))
    beyond = []
    for end, limit, past in (
        (domain.start, domain.at_start, lax.le),
        (domain.stop, domain.at_stop, lax.ge),
    ):
        if end not in (-INFINITE, INFINITE):
            outside = past(x, scalar(end, x))
            # Evaluate in the middle instead, so that neither a value nor a derivative is nan.
            inside = lax.select(outside, middle, inside)
            beyond.append((outside, limit))
    y = primitive.bind(inside, **params)
    for outside, limit in beyond:
        y = lax.select(outside, lax.full_like(y, scalar(limit, y)), y)
    return y


def _inner_point(domain: Domain) -> float:
    if domain.start == -INFINITE:
        return 0.0 if domain.stop == INFINITE else domain.stop - 1
    return domain.start + 1 if domain.stop == INFINITE else (domain.start + domain.stop) / 2


def within(x: Interval, least: float, greatest: float) -> Interval:
    """The interval cut off at the range of a function."""
    lower, upper = x
    if is_float(lower):
        if least != -INFINITE:
            lower = lax.max(lower, scalar(least, lower))
        if greatest != INFINITE:
            upper = lax.min(upper, scalar(greatest, upper))
    return Interval(lower, upper)


def exact(rules: RuleSet, *primitives: Primitive) -> None:
    """The rule of operations that move elements, or increase in every operand, without rounding: apply to both bounds."""

    def register(primitive: Primitive) -> None:
        @rules.define(interval_rule, primitive)
        def _interval(*operands: Interval, **params: Any) -> Any:
            lower = primitive.bind(*(x.lower for x in operands), **params)
            upper = primitive.bind(*(x.upper for x in operands), **params)
            if primitive.multiple_results:
                return [Interval(a, b) for a, b in zip(lower, upper, strict=True)]
            return Interval(lower, upper)

    for primitive in primitives:
        register(primitive)
