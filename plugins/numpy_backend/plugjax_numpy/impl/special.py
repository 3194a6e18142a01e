"""Kernels of special functions: SciPy's, except where XLA's bits are required."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import special as lax
from plugjax_numpy.impl.erf_inv import erf_inv
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@cache
def scipy_special() -> Any:
    """The module ``scipy.special``."""
    import scipy.special  # noqa: PLC0415  # a named lazy-loading point: SciPy takes 0.2 s to import

    return scipy.special


def by_scipy(name: str, *operands: Value) -> Value:
    """A ufunc of ``scipy.special``; dtypes narrower than float32 are computed in float32."""
    function = getattr(scipy_special(), name)
    dtype = operands[0].dtype
    if dtype in (np.float32, np.float64):
        return function(*operands)
    return function(*(np.asarray(x, np.float32) for x in operands)).astype(dtype)


@rules.define(impl, lax.erf_p)
def _erf(x: Value) -> Value:
    return by_scipy("erf", x)


@rules.define(impl, lax.erfc_p)
def _erfc(x: Value) -> Value:
    return by_scipy("erfc", x)


@rules.define(impl, lax.erf_inv_p)
def _erf_inv(x: Value) -> Value:
    # XLA's evaluation, bit for bit: random.normal is built on it.
    return erf_inv(np.asarray(x))


@rules.define(impl, lax.lgamma_p)
def _lgamma(x: Value) -> Value:
    # SciPy has no limit at minus infinity; C and XLA have this one.
    return np.where(x == -np.inf, x.dtype.type(np.inf), by_scipy("gammaln", x))[()]


@rules.define(impl, lax.digamma_p)
def _digamma(x: Value) -> Value:
    # SciPy's values to the left of 0 lose digits towards the poles; at 0 it gives the limit from one side.
    wide = np.asarray(x, np.float64)
    left, beyond = np.less(wide, 0), wide - np.round(wide)
    right = scipy_special().psi(np.where(left, 1 - wide, wide))
    found = np.where(left, right - np.pi / np.tan(np.pi * beyond), right)
    is_pole = (beyond == 0) & (wide <= 0)
    return np.where(is_pole, np.nan, found).astype(x.dtype)[()]


@rules.define(impl, lax.zeta_p)
def _zeta(x: Value, q: Value) -> Value:
    return by_scipy("zeta", x, q)


@rules.define(impl, lax.polygamma_p)
def _polygamma(m: Value, x: Value) -> Value:
    order, at = (np.asarray(v, np.float64) for v in (m, x))
    special = scipy_special()
    sign = np.where(order % 2 == 0, -1.0, 1.0)
    found = sign * special.gamma(order + 1) * special.zeta(order + 1, at)
    found = np.where(order == 0, special.psi(at), found)
    whole = (order >= 0) & (order == np.floor(order))
    return np.where(whole, found, np.nan).astype(x.dtype)[()]
