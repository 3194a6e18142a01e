"""Kernel of the incomplete beta function: SciPy's."""

from __future__ import annotations

from plugjax.core import RuleSet, impl
from plugjax.lax.incomplete_beta import regularized_incomplete_beta_p
from plugjax_numpy.impl.special import by_scipy
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, regularized_incomplete_beta_p)
def _betainc(a: Value, b: Value, x: Value) -> Value:
    return by_scipy("betainc", a, b, x)
