"""Kernels of ``select_n`` and ``clamp``."""

from __future__ import annotations

import numpy as np

from plugjax.extend.core import select_n_p
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import selection as lax
from plugjax_numpy.kernels import Value, mark_fresh

rules = RuleSet(__name__)
mark_fresh(rules, select_n_p)


@rules.define(impl, select_n_p)
def _select_n(which: Value, *cases: Value) -> Value:
    if len(cases) == 2:
        on_false, on_true = cases
        first = which if which.dtype == bool else which > 0
        return np.where(first, on_true, on_false)
    if len(cases) == 1:
        return np.array(cases[0])
    return np.choose(np.clip(which, 0, len(cases) - 1), cases)


@rules.define(impl, lax.clamp_p)
def _clamp(low: Value, x: Value, high: Value) -> Value:
    return np.minimum(np.maximum(x, low), high)
