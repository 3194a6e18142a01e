"""Kernels of the arithmetic primitives."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from plugjax.extend.core import add_any_p, mul_p
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import arithmetic as lax
from plugjax_numpy.kernels import Value, define_ufunc

rules = RuleSet(__name__)

define_ufunc(rules, lax.neg_p, np.negative, operator.neg)
define_ufunc(rules, lax.add_p, np.add, operator.add)
define_ufunc(rules, add_any_p, np.add, operator.add)
define_ufunc(rules, lax.sub_p, np.subtract, operator.sub)
define_ufunc(rules, mul_p, np.multiply, operator.mul)
define_ufunc(rules, lax.max_p, np.maximum)
define_ufunc(rules, lax.min_p, np.minimum)
define_ufunc(rules, lax.abs_p, np.absolute, operator.abs)
define_ufunc(rules, lax.floor_p, np.floor)
define_ufunc(rules, lax.ceil_p, np.ceil)
define_ufunc(rules, lax.nextafter_p, np.nextafter)
define_ufunc(rules, lax.square_p, np.square)


@rules.define(impl, lax.sign_p)
def _sign(x: Value) -> Value:
    found = np.sign(x)
    # NumPy gives 0.0 for -0.0.
    if found.dtype.kind == "f":
        return np.copysign(found, x)
    return np.where(x == 0, x, found) if found.dtype.kind == "c" else found


def _complex_quotient(x: Value, y: Value) -> Value:
    found = np.divide(x, y)
    lost = np.isfinite(x) & np.isinf(y.real) & np.isinf(y.imag)
    if not lost.any():
        return found
    # NumPy gives nan by two infinite parts, and C a zero in the direction of the quotient.
    direction = np.copysign(1, y.real) - 1j * np.copysign(1, y.imag)
    turned = x * direction.astype(x.dtype)
    zero = np.empty_like(turned)
    zero.real, zero.imag = 0 * turned.real, 0 * turned.imag
    return np.where(lost, zero, found)[()]


@rules.define(impl, lax.div_p)
def _div(x: Value, y: Value) -> Value:
    if x.dtype.kind == "c":
        return _complex_quotient(x, y)
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    # Division truncates towards zero. A quotient by zero has all bits set; the quotient that
    # overflows is the dividend.
    zero = np.equal(y, 0)
    safe = np.where(zero, np.ones_like(y), y)
    if x.dtype.kind == "u":
        quotient = np.floor_divide(x, safe)
    else:
        overflow = np.logical_and(np.equal(safe, -1), np.equal(x, np.iinfo(x.dtype).min))
        safe = np.where(overflow, np.ones_like(y), safe)
        quotient = np.floor_divide(x, safe)
        inexact = np.not_equal(quotient * safe, x)
        quotient = quotient + np.logical_and(inexact, np.less(np.bitwise_xor(x, safe), 0)).astype(
            x.dtype
        )
    return np.where(zero, np.array(-1).astype(x.dtype), quotient)


@rules.define(impl, lax.rem_p)
def _rem(x: Value, y: Value) -> Value:
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    zero = np.equal(y, 0)
    return np.where(zero, x, np.fmod(x, np.where(zero, np.ones_like(y), y)))


@rules.define(impl, lax.mulhi_p)
def _mulhi(x: Value, y: Value) -> Value:
    dtype = x.dtype
    bits = _integer_bits(dtype)
    if bits < 64:
        wide = np.dtype(np.uint64 if dtype.name.startswith("u") else np.int64)
        product = np.multiply(x.astype(wide), y.astype(wide))
        return np.right_shift(product, wide.type(bits)).astype(dtype)
    # The high word from four products of halves, which fit in a word, and their carries.
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b = x.astype(np.uint64), y.astype(np.uint64)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    across, other = a1 * b0, a0 * b1
    carry = (across & low) + (other & low) + (a0 * b0 >> half)
    high = (a1 * b1 + (across >> half) + (other >> half) + (carry >> half)).astype(dtype)
    if dtype.kind == "u":
        return high
    return high - np.where(x < 0, y, dtype.type(0)) - np.where(y < 0, x, dtype.type(0))


def _integer_bits(dtype: np.dtype[Any]) -> int:
    """Bits of an integer; NumPy stores integers of fewer than 8 bits in bytes."""
    return int(dtype.name.lstrip("uint"))


@rules.define(impl, lax.integer_pow_p)
def _integer_pow(x: Value, *, y: int) -> Value:
    # Repeated squaring: NumPy's power is twenty times slower, and rounds because it uses pow().
    if y == 0:
        return np.ones_like(x)
    result: Any = None
    base, exponent = x, abs(y)
    while exponent:
        if exponent & 1:
            result = base if result is None else np.multiply(result, base)
        exponent >>= 1
        if exponent:
            base = np.multiply(base, base)
    return _div(x.dtype.type(1), result) if y < 0 else result


@rules.define(impl, lax.round_p)
def _round(x: Value, *, rounding_method: int) -> Value:
    if rounding_method == 1:
        return np.rint(x)
    rounded = np.trunc(x)
    half = np.greater_equal(np.absolute(np.subtract(x, rounded)), x.dtype.type(0.5))
    return np.where(half, np.add(rounded, np.copysign(x.dtype.type(1), x)), rounded)
