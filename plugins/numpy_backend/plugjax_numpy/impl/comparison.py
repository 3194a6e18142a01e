"""Kernels of comparisons and of operations on bits."""

from __future__ import annotations

import operator

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import comparison as lax
from plugjax_numpy.kernels import Value, define_ufunc

rules = RuleSet(__name__)

define_ufunc(rules, lax.eq_p, np.equal, operator.eq)
define_ufunc(rules, lax.ne_p, np.not_equal, operator.ne)
define_ufunc(rules, lax.ge_p, np.greater_equal, operator.ge)
define_ufunc(rules, lax.gt_p, np.greater, operator.gt)
define_ufunc(rules, lax.le_p, np.less_equal, operator.le)
define_ufunc(rules, lax.lt_p, np.less, operator.lt)
define_ufunc(rules, lax.is_finite_p, np.isfinite)
define_ufunc(rules, lax.not_p, np.bitwise_not)
define_ufunc(rules, lax.and_p, np.bitwise_and, operator.and_)
define_ufunc(rules, lax.or_p, np.bitwise_or, operator.or_)
define_ufunc(rules, lax.xor_p, np.bitwise_xor, operator.xor)


def _total_order(x: Value) -> Value:
    """Integers in the order of the elements: negative nan and -0.0 below, nan above."""
    if not dtypes.is_float(x.dtype):
        return x
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}").reshape(x.shape)
    return np.where(bits < 0, np.iinfo(bits.dtype).max ^ bits, bits)


def _define_ordered(primitive: Primitive, ufunc: np.ufunc) -> None:
    @rules.define(impl, primitive)
    def _compare(x: Value, y: Value) -> Value:
        return ufunc(_total_order(x), _total_order(y))


_define_ordered(lax.eq_to_p, np.equal)
_define_ordered(lax.le_to_p, np.less_equal)
_define_ordered(lax.lt_to_p, np.less)


def _bits(x: Value) -> int:
    return int(x.dtype.itemsize * 8)


def _unsigned(x: Value) -> Value:
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "i" else x


def _too_far(x: Value, y: Value) -> Value:
    return np.greater_equal(_unsigned(y), _bits(x))


@rules.define(impl, lax.shift_left_p)
def _shift_left(x: Value, y: Value) -> Value:
    return np.where(_too_far(x, y), x.dtype.type(0), np.left_shift(x, y))


@rules.define(impl, lax.shift_right_logical_p)
def _shift_right_logical(x: Value, y: Value) -> Value:
    shifted = np.right_shift(_unsigned(x), _unsigned(y)).view(x.dtype)
    return np.where(_too_far(x, y), x.dtype.type(0), shifted)


@rules.define(impl, lax.shift_right_arithmetic_p)
def _shift_right_arithmetic(x: Value, y: Value) -> Value:
    signed = x.view(f"i{x.dtype.itemsize}")
    amount = np.where(_too_far(x, y), y.dtype.type(_bits(x) - 1), y).view(f"i{x.dtype.itemsize}")
    return np.right_shift(signed, amount).view(x.dtype)


@rules.define(impl, lax.population_count_p)
def _population_count(x: Value) -> Value:
    return np.bitwise_count(_unsigned(x)).astype(x.dtype)


@rules.define(impl, lax.clz_p)
def _clz(x: Value) -> Value:
    remaining = _unsigned(np.asarray(x)).copy()
    count = np.full(remaining.shape, _bits(x), x.dtype)
    while np.any(remaining):
        count -= (remaining != 0).astype(x.dtype)
        remaining >>= remaining.dtype.type(1)
    return count
