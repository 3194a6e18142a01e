"""Kernels of Bessel functions: SciPy's."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.bessel import bessel_i0e_p, bessel_i1e_p
from plugjax_numpy.impl.special import by_scipy
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, bessel_i0e_p)
def _i0e(x: Value) -> Value:
    return by_scipy("i0e", x)


@rules.define(impl, bessel_i1e_p)
def _i1e(x: Value) -> Value:
    # SciPy gives 0.0 for -0.0.
    return np.copysign(by_scipy("i1e", x), x)
