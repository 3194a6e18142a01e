"""The cell of the primitive ``lambertw`` and the rule kind ``interval``.

W increases on [-1/e, inf), from -1. Near the branch point -1/e, where W is steep, a computed value may be off by many
units in the last place; below -0.36787, a little above -1/e, the lower bound is therefore -1, and the upper bound
W(-0.36787) holds.
"""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.extend import RuleSet
from plugjax.lax.families import scalar
from plugjax_interval import Interval, interval_rule, outward
from plugjax_lambertw import lambertw, lambertw_p

rules = RuleSet(__name__)

_NEAR_BRANCH = -0.36787
_ULPS = 512  # The error of the iteration on XLA and IREE, down to this point.


@rules.define(interval_rule, lambertw_p)
def _lambertw(x: Interval) -> Interval:
    start = lax.full_like(x.lower, scalar(_NEAR_BRANCH, x.lower))
    found = outward(lambertw(lax.max(x.lower, start)), lambertw(lax.max(x.upper, start)), _ULPS)
    least = lax.full_like(found.lower, scalar(-1, found.lower))

    def cut(bound: Any) -> Any:
        return lax.select(lax.lt(x.lower, start), least, lax.max(bound, least))

    return Interval(cut(found.lower), found.upper)
