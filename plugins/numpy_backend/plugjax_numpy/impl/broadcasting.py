"""Kernel of repetition."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.broadcasting import tile_p
from plugjax_numpy.kernels import Value, mark_fresh

rules = RuleSet(__name__)
mark_fresh(rules, tile_p)


@rules.define(impl, tile_p)
def _tile(x: Value, *, reps: tuple[int, ...]) -> Value:
    return np.tile(x, reps)
