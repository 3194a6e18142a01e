"""Kernels of exponentials, logarithms, powers and roots."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import exponential as lax
from plugjax_numpy.kernels import Value, define_ufunc

rules = RuleSet(__name__)

define_ufunc(rules, lax.exp_p, np.exp)
define_ufunc(rules, lax.exp2_p, np.exp2)
define_ufunc(rules, lax.log_p, np.log)
define_ufunc(rules, lax.sqrt_p, np.sqrt)
define_ufunc(rules, lax.cbrt_p, np.cbrt)
define_ufunc(rules, lax.pow_p, np.power)


def _expm1(x: Value) -> Value:
    found = np.expm1(x)
    if x.dtype.kind != "c":
        return found
    # NumPy would multiply an infinite exponential by a sine of 0.
    return np.where(np.isfinite(x.real), found, np.exp(x) - x.dtype.type(1))


def _log1p(x: Value) -> Value:
    found = np.log1p(x)
    if x.dtype.kind != "c":
        return found
    # NumPy adds 1 first, which loses what is small against 1.
    a, b = x.real, x.imag
    near = np.log1p(a * (2 + a) + b * b) / 2
    small = (np.abs(a) < 0.5) & (np.abs(b) < 1)
    out = np.array(found)
    # Infinite parts may come from an overflowing square.
    far = np.where(np.isinf(found.real), np.log(x).real, found.real)
    out.real = np.where(small, near, np.where(np.greater(found.real, 0), far, found.real))
    return out


rules.define(impl, lax.expm1_p)(_expm1)
rules.define(impl, lax.log1p_p)(_log1p)


@rules.define(impl, lax.rsqrt_p)
def _rsqrt(x: Value) -> Value:
    return np.divide(x.dtype.type(1), np.sqrt(x))


@rules.define(impl, lax.logistic_p)
def _logistic(x: Value) -> Value:
    # Take exp only of values up to 0: large |x| gives 0 or 1 without overflow.
    one, left = x.dtype.type(1), np.less(x.real, 0)
    small = np.exp(np.where(left, x, np.negative(x)))
    positive = np.divide(one, np.add(one, small))
    return np.where(left, np.multiply(small, positive), positive)
