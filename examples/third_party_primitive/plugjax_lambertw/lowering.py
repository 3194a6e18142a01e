"""StableHLO for the Lambert W function: Halley's iteration, written in lax and staged.

From a starting value with two right digits, Halley's iteration triples the number of right digits in each step. Near
the branch point -1/e the series in p = sqrt(2 (e x + 1)) starts it, elsewhere log(1 + x), corrected for large x.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import RuleSet, lowering, stage
from plugjax.lax.families import scalar
from plugjax_lambertw.lambertw import lambertw_p

rules = RuleSet(__name__)

_STEPS = 6


def halley(x: Any) -> Any:
    """W(x) by Halley's iteration."""

    def c(value: float) -> Any:
        return lax.full_like(x, scalar(value, x))

    one, two, zero = c(1), c(2), c(0)
    p = lax.sqrt(lax.max(lax.mul(two, lax.add(lax.mul(c(np.e), x), one)), zero))
    near_branch = lax.add(c(-1), lax.mul(p, lax.sub(one, lax.mul(p, c(1 / 3)))))
    log = lax.log1p(lax.max(x, c(-0.3)))
    large = lax.sub(log, lax.log(lax.max(log, one)))
    w = lax.select(lax.lt(x, c(-0.25)), near_branch, large)
    for _ in range(_STEPS):
        e = lax.exp(w)
        f = lax.sub(lax.mul(w, e), x)
        slope = lax.mul(e, lax.add(w, one))
        # Halley: w - f / (f' - f f'' / (2 f')), with f'' / f' = (w + 2) / (w + 1).
        safe = lax.max(lax.add(w, one), c(1e-6))
        curvature = lax.div(lax.mul(f, lax.add(w, two)), lax.mul(two, safe))
        step = lax.div(f, lax.sub(slope, curvature))
        w = lax.sub(w, lax.select(lax.is_finite(step), step, zero))
    w = lax.select(lax.eq(x, c(np.inf)), x, w)
    return lax.select(lax.lt(x, c(-1 / np.e)), c(np.nan), w)


@rules.define(lowering, lambertw_p)
def _lambertw(ctx: Any, x: Any) -> Any:
    return ctx.inline(stage(lambda x: [halley(x)], ctx.avals_in, "lambertw"), [x])
