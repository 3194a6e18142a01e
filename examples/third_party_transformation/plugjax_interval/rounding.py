"""Outward rounding.

A computed bound has the rounding error of its operation. It is moved outwards by a margin that is at least as large:
``ulps`` units in the last place, |x| eps being at least one unit of x, and the smallest normal number, which covers
results that are subnormal or flushed to zero. Sums, products, quotients and square roots are rounded correctly by IEEE
754, so one unit is enough; for other functions ``ulps`` states what is assumed of the backends' libraries. Margins are
products and sums, not ``nextafter``, so bounds have derivatives.

A bound that overflowed means only that the value is beyond the largest number: a lower bound of +inf becomes that
number. Integers and bools are exact if they do not overflow, which is not checked.
"""

from __future__ import annotations

from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import aval_of
from plugjax.lax.families import scalar
from plugjax_interval.enclosure import Interval


def is_float(x: Any) -> bool:
    """Whether bounds of these values need rounding."""
    return bool(jnp.issubdtype(aval_of(x).dtype, jnp.floating))


def unit(x: Any) -> float:
    """The distance from 1 to the next number of the dtype of ``x``."""
    return float(jnp.finfo(aval_of(x).dtype).eps)


def outward(lower: Any, upper: Any, ulps: float = 1) -> Interval:
    """The interval widened by ``ulps`` units in the last place of each bound."""
    if not is_float(lower):
        return Interval(lower, upper)
    share = scalar(ulps * unit(lower), lower)
    return by_margins(lower, upper, lax.mul(lax.abs(lower), share), lax.mul(lax.abs(upper), share))


def by_margins(lower: Any, upper: Any, below: Any, above: Any) -> Interval:
    """The interval widened by given margins and the smallest normal number."""
    finfo = jnp.finfo(aval_of(lower).dtype)
    tiny, largest = float(finfo.tiny), float(finfo.max)
    lower = lax.min(_real(lower, -float("inf")), scalar(largest, lower))
    upper = lax.max(_real(upper, float("inf")), scalar(-largest, upper))
    below = lax.add(_real(below, float("inf")), scalar(tiny, below))
    above = lax.add(_real(above, float("inf")), scalar(tiny, above))
    return Interval(lax.sub(lower, below), lax.add(upper, above))


def _real(x: Any, instead: float) -> Any:
    """``x``, with nan (infinity minus infinity) replaced by the trivial bound."""
    return lax.select(lax.ne(x, x), lax.full_like(x, scalar(instead, x)), x)
