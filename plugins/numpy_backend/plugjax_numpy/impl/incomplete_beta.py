"""Kernel of the incomplete beta function: SciPy's."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.incomplete_beta import regularized_incomplete_beta_p
from plugjax_numpy.impl.special import by_scipy
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, regularized_incomplete_beta_p)
def _betainc(a: Value, b: Value, x: Value) -> Value:
    # SciPy's float32 loop underflows and cancels although the result is a normal number.
    wide = [np.asarray(v, np.float64) for v in (a, b, x)]
    return np.asarray(by_scipy("betainc", *wide)).astype(a.dtype)
