"""Kernels of the incomplete gamma functions: SciPy's, and their derivative by the first argument, which SciPy lacks."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.incomplete_gamma import igamma_grad_a_p, igamma_p, igammac_p
from plugjax_numpy.impl.special import by_scipy, scipy_special
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)

_MOST_TERMS = 2000


@rules.define(impl, igamma_p)
def _igamma(a: Value, x: Value) -> Value:
    return by_scipy("gammainc", a, x)


@rules.define(impl, igammac_p)
def _igammac(a: Value, x: Value) -> Value:
    return by_scipy("gammaincc", a, x)


@rules.define(impl, igamma_grad_a_p)
def _igamma_grad_a(a: Value, x: Value) -> Value:
    dtype = a.dtype
    order, at = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    found = np.where((at < 0) | (order <= 0) | np.isnan(at) | np.isnan(order), np.nan, 0.0)
    inside = (order > 0) & (at > 0) & np.isfinite(order) & np.isfinite(at)
    above = inside & (at > 1) & (at > order)
    found[above] = -_by_fraction(order[above], at[above])
    below = inside & ~above
    found[below] = _by_series(order[below], at[below])
    return found.astype(dtype)[()]


def _by_series(a: Value, x: Value) -> Value:
    """The derivative of the sum of ``x**n / ((a + 1) ... (a + n))``, times its prefactor."""
    special = scipy_special()
    term, term_a = np.ones_like(x), np.zeros_like(x)
    total, total_a = term.copy(), term_a.copy()
    for n in range(1, _MOST_TERMS):
        term_a = (term_a - term / (a + n)) * x / (a + n)
        term = term * x / (a + n)
        total += term
        total_a += term_a
        if np.all((term <= 1e-17 * total) & (np.abs(term_a) <= 1e-17 * np.abs(total_a))):
            break
    factor = np.exp(a * np.log(x) - x - special.gammaln(a + 1))
    return factor * (total_a + total * (np.log(x) - special.psi(a + 1)))


def _by_fraction(a: Value, x: Value) -> Value:
    """The derivative of the continued fraction of the upper function, by Lentz's ratios."""
    special = scipy_special()
    c, c_a = np.full_like(x, 1e300), np.zeros_like(x)
    d = 1 / (x + 1 - a)
    d_a = d * d
    value, value_a = d.copy(), d_a.copy()
    for n in range(1, _MOST_TERMS):
        numerator, b = n * (a - n), x - a + 2 * n + 1
        bottom_a = numerator * d_a + n * d - 1
        d = 1 / (b + numerator * d)
        d_a = -bottom_a * d * d
        c, c_a = b + numerator / c, (n - numerator * c_a / c) / c - 1
        change_a = value_a * (c * d - 1) + value * (c_a * d + c * d_a)
        value, value_a = value * c * d, value_a + change_a
        if np.all(np.abs(change_a) <= 1e-16 * (np.abs(value) + np.abs(value_a))):
            break
    factor = np.exp(a * np.log(x) - x - special.gammaln(a))
    return factor * (value_a + value * (np.log(x) - special.psi(a)))
