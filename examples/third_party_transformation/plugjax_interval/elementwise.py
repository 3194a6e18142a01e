"""Arithmetic and elementary functions.

Products and quotients of intervals take their least and greatest value at corners. So do powers with positive bases: x^y is
exp(y log x), and y log x is linear in y for each x and monotone in x for each y. 0 * inf, which is the product of a number that
may be 0 and one that may be arbitrarily large, adds nothing to the other corners.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from plugjax import lax
from plugjax.extend import RuleSet, aval_of
from plugjax.lax.families import scalar
from plugjax_interval.enclosure import Interval, interval_rule
from plugjax_interval.families import INFINITE, ULPS, Domain, decreasing, exact, increasing
from plugjax_interval.rounding import is_float, outward

rules = RuleSet(__name__)

INVERSE_ULPS = 64  # Error of the inverse trigonometric functions.
POSITIVE = Domain(0.0, INFINITE, -INFINITE, INFINITE)

increasing(rules, lax.exp_p, Domain(at_start=0.0))
increasing(rules, lax.exp2_p, Domain(at_start=0.0))
increasing(rules, lax.expm1_p, Domain(at_start=-1.0))
increasing(rules, lax.log_p, POSITIVE)
increasing(rules, lax.log1p_p, Domain(-1.0, INFINITE, -INFINITE, INFINITE))
increasing(rules, lax.sqrt_p, Domain(0.0, INFINITE, 0.0, INFINITE), ulps=2)
increasing(rules, lax.cbrt_p)
increasing(rules, lax.tanh_p, Domain(at_start=-1.0, at_stop=1.0))
increasing(rules, lax.logistic_p, Domain(at_start=0.0, at_stop=1.0))
increasing(rules, lax.erf_p, Domain(at_start=-1.0, at_stop=1.0))
increasing(rules, lax.atan_p, ulps=INVERSE_ULPS)
increasing(rules, lax.asin_p, Domain(-1.0, 1.0, -1.5708, 1.5708), INVERSE_ULPS)
increasing(rules, lax.sinh_p)
increasing(rules, lax.asinh_p)
increasing(rules, lax.acosh_p, Domain(1.0, INFINITE, 0.0, INFINITE))
increasing(rules, lax.atanh_p, Domain(-1.0, 1.0))
decreasing(rules, lax.rsqrt_p, Domain(0.0, INFINITE, INFINITE, 0.0))
decreasing(rules, lax.erfc_p, Domain(at_start=2.0, at_stop=0.0))
decreasing(rules, lax.acos_p, Domain(-1.0, 1.0, 3.1416, 0.0), INVERSE_ULPS)

# Monotone in every operand, without rounding.
exact(rules, lax.max_p, lax.min_p, lax.clamp_p, lax.sign_p, lax.floor_p, lax.ceil_p, lax.round_p)
exact(rules, lax.copy_p, lax.stop_gradient_p)


@rules.define(interval_rule, lax.add_p, lax.add_any_p)
def _add(x: Interval, y: Interval) -> Interval:
    return outward(lax.add(x.lower, y.lower), lax.add(x.upper, y.upper))


@rules.define(interval_rule, lax.sub_p)
def _sub(x: Interval, y: Interval) -> Interval:
    return outward(lax.sub(x.lower, y.upper), lax.sub(x.upper, y.lower))


@rules.define(interval_rule, lax.neg_p)
def _neg(x: Interval) -> Interval:
    return Interval(lax.neg(x.upper), lax.neg(x.lower))


@rules.define(interval_rule, lax.abs_p)
def absolute(x: Interval) -> Interval:
    """``|x|``: the larger end, and the smaller one unless 0 lies between them."""
    nearest = lax.max(lax.max(x.lower, lax.neg(x.upper)), scalar(0, x.lower))
    return Interval(nearest, lax.max(x.upper, lax.neg(x.lower)))


def hull(values: Sequence[Any]) -> Interval:
    """From the least to the greatest."""
    return Interval(reduce(lax.min, values), reduce(lax.max, values))


def corners(function: Callable[[Any, Any], Any], x: Interval, y: Interval) -> Interval:
    """The hull of a function at the corners of a box; nan, which infinite corners give, counts as 0."""
    ends_x = (x.lower,) if x.lower is x.upper else x
    ends_y = (y.lower,) if y.lower is y.upper else y
    found = [function(a, b) for a in ends_x for b in ends_y]
    if is_float(found[0]):
        found = [lax.select(lax.ne(v, v), lax.full_like(v, scalar(0, v)), v) for v in found]
    return hull(found)


@rules.define(interval_rule, lax.mul_p)
def _mul(x: Interval, y: Interval) -> Interval:
    return _square(x) if x is y else outward(*corners(lax.mul, x, y))


@rules.define(interval_rule, lax.square_p)
def _square(x: Interval) -> Interval:
    least, greatest = absolute(x)
    found = outward(lax.mul(least, least), lax.mul(greatest, greatest))
    return Interval(lax.max(found.lower, scalar(0, found.lower)), found.upper)


def reaches_zero(x: Interval) -> Any:
    """Where 0 lies in the interval."""
    zero = scalar(0, x.lower)
    return lax.bitwise_and(lax.le(x.lower, zero), lax.ge(x.upper, zero))


@rules.define(interval_rule, lax.div_p)
def _div(x: Interval, y: Interval) -> Interval:
    if not is_float(x.lower):
        raise TypeError(
            "interval: integer division is not enclosed. Convert the operands to floating point."
        )
    unbounded = reaches_zero(y)
    one = lax.full_like(y.lower, scalar(1, y.lower))
    safe = Interval(lax.select(unbounded, one, y.lower), lax.select(unbounded, one, y.upper))
    return everything_where(unbounded, outward(*corners(lax.div, x, safe)))


def everything_where(where: Any, x: Interval) -> Interval:
    """The interval, and the whole line where the mask holds."""
    infinite = lax.full_like(x.lower, scalar(INFINITE, x.lower))
    if aval_of(where).shape != aval_of(x.lower).shape:
        where = lax.bitwise_or(where, lax.full_like(x.lower, False, dtype=bool))
    return Interval(
        lax.select(where, lax.neg(infinite), x.lower), lax.select(where, infinite, x.upper)
    )


@rules.define(interval_rule, lax.integer_pow_p)
def _integer_pow(x: Interval, *, y: int) -> Interval:
    if y < 0:
        one = lax.full_like(x.lower, scalar(1, x.lower))
        return _div(Interval(one, one), _integer_pow(x, y=-y))
    if y % 2 == 0:
        x = absolute(x)
    found = outward(lax.integer_pow(x.lower, y), lax.integer_pow(x.upper, y), ulps=y + 1)
    if y % 2 == 0:
        return Interval(lax.max(found.lower, scalar(0, found.lower)), found.upper)
    return found


@rules.define(interval_rule, lax.pow_p)
def _pow(x: Interval, y: Interval) -> Interval:
    if not is_float(y.lower):
        y = Interval(*(lax.convert_element_type(v, aval_of(x.lower).dtype) for v in y))
    zero = scalar(0, x.lower)
    negative = lax.lt(x.lower, zero)
    base = Interval(lax.max(x.lower, zero), lax.max(x.upper, zero))
    found = outward(*corners(lax.pow, base, y), ulps=2 * ULPS)
    least = lax.max(found.lower, scalar(0, found.lower))
    # A negative base has a value for integer exponents only; integers in the interval are not
    # searched.
    return everything_where(negative, Interval(least, found.upper))
