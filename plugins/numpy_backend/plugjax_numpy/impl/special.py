"""Kernels of special functions: SciPy's, except where the bits of XLA are wanted."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from plugjax.core import RuleSet, impl
from plugjax.lax import special as lax
from plugjax_numpy.impl.erf_inv import erf_inv
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@cache
def _scipy_special() -> Any:
    import scipy.special  # noqa: PLC0415  # a named lazy-loading point: SciPy takes 0.2 s to import

    return scipy.special


def _in_float32(name: str, x: Value) -> Value:
    function = getattr(_scipy_special(), name)
    if x.dtype in (np.float32, np.float64):
        return function(x)
    return function(np.asarray(x, np.float32)).astype(x.dtype)


@rules.define(impl, lax.erf_p)
def _erf(x: Value) -> Value:
    return _in_float32("erf", x)


@rules.define(impl, lax.erfc_p)
def _erfc(x: Value) -> Value:
    return _in_float32("erfc", x)


@rules.define(impl, lax.erf_inv_p)
def _erf_inv(x: Value) -> Value:
    # XLA's evaluation, bit for bit: random.normal is built on it.
    return erf_inv(np.asarray(x))
