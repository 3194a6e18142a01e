"""Kernels of reductions. Small floats are added and multiplied in float32, as XLA does."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import reduce_sum_p
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import reduction as lax
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)

_SMALL_INTEGERS = (*dtypes.SIGNED_SMALL, *dtypes.UNSIGNED_SMALL)


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype to accumulate in."""
    if dtype == np.float16 or dtype in dtypes.CUSTOM_FLOATS:
        return dtypes.FLOAT32
    return dtypes.INT32 if dtype in _SMALL_INTEGERS else dtype


def _define(primitive: Any, ufunc: Any) -> None:
    @rules.define(impl, primitive)
    def _reduce(x: Value, *, axes: tuple[int, ...]) -> Value:
        dtype = x.dtype
        wide = _wide(dtype)
        if wide == dtype:
            return ufunc.reduce(x, axis=axes, dtype=dtype)
        return ufunc.reduce(x.astype(wide), axis=axes).astype(dtype)


_define(lax.reduce_prod_p, np.multiply)

# NumPy adds pairwise along the last axis, and sequentially along others. Longer sums than this are
# added in blocks.
_LONGEST = 256


@rules.define(impl, reduce_sum_p)
def _sum(x: Value, *, axes: tuple[int, ...]) -> Value:
    dtype = x.dtype
    wide = _wide(dtype)
    if wide is dtype and (x.size <= _LONGEST or dtype.kind not in "fc"):
        return np.add.reduce(x, axis=axes, dtype=dtype)
    total = _sum_exactly(x.astype(wide, copy=False), axes)
    return total if wide is dtype else total.astype(dtype)


def _sum_exactly(x: Value, axes: tuple[int, ...]) -> Value:
    """A sum whose rounding errors grow with the square root of its length, or slower."""
    if x.size <= _LONGEST or x.dtype.kind not in "fc":
        return np.add.reduce(x, axis=axes, dtype=x.dtype)
    left = sorted(axes)
    together: list[int] = []
    # NumPy adds contiguous elements pairwise.
    while left and left[-1] == x.ndim - len(together) - 1:
        together.append(left.pop())
    if together:
        x = np.add.reduce(x, axis=tuple(together))
    while left:
        x = _sum_in_blocks(x, left.pop())
    return x


def _sum_in_blocks(x: Value, axis: int) -> Value:
    size = x.shape[axis]
    if size <= _LONGEST:
        return np.add.reduce(x, axis=axis)
    block = math.isqrt(size)
    count = size // block
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    lead = (slice(None),) * axis
    blocks = x[(*lead, slice(count * block))].reshape(*before, count, block, *after)
    total = np.add.reduce(np.add.reduce(blocks, axis=axis + 1), axis=axis)
    if count * block < size:
        total = total + np.add.reduce(x[(*lead, slice(count * block, size))], axis=axis)
    return total


def _define_extremum(primitive: Any, ufunc: Any, lowest: bool) -> None:
    @rules.define(impl, primitive)
    def _reduce(x: Value, *, axes: tuple[int, ...]) -> Value:
        if x.size:
            return ufunc.reduce(x, axis=axes)
        shape = tuple(size for d, size in enumerate(x.shape) if d not in axes)
        return np.full(shape, _limit(x.dtype, lowest), x.dtype)


def _limit(dtype: np.dtype[Any], lowest: bool) -> Any:
    """The extremum of an empty set."""
    if dtype.kind == "b":
        return not lowest
    if dtypes.is_inexact(dtype):
        return -np.inf if lowest else np.inf
    if dtype in _SMALL_INTEGERS:
        limits: Any = ml_dtypes.iinfo(dtype)
    else:
        limits = np.iinfo(dtype)
    return limits.min if lowest else limits.max


_define_extremum(lax.reduce_max_p, np.maximum, True)
_define_extremum(lax.reduce_min_p, np.minimum, False)


def _define_bits(primitive: Any, ufunc: Any, logical: Any) -> None:
    @rules.define(impl, primitive)
    def _reduce(x: Value, *, axes: tuple[int, ...]) -> Value:
        if x.dtype.kind == "b":
            return logical.reduce(x, axis=axes)
        return ufunc.reduce(x, axis=axes, dtype=x.dtype)


_define_bits(lax.reduce_and_p, np.bitwise_and, np.logical_and)
_define_bits(lax.reduce_or_p, np.bitwise_or, np.logical_or)
_define_bits(lax.reduce_xor_p, np.bitwise_xor, np.logical_xor)


def _define_place(primitive: Any, function: Any) -> None:
    @rules.define(impl, primitive)
    def _place(x: Value, *, axes: tuple[int, ...], index_dtype: np.dtype[Any]) -> Value:
        wide = _wide(x.dtype)
        if wide is not x.dtype:
            x = x.astype(wide)
        return function(x, axes[0]).astype(index_dtype)


# NumPy, too, returns the position of the first nan.
_define_place(lax.argmax_p, np.argmax)
_define_place(lax.argmin_p, np.argmin)


# NumPy accumulates sequentially; in float64 the rounding errors stay below float32's.
_TWICE_AS_WIDE = {dtypes.FLOAT32: dtypes.FLOAT64, dtypes.COMPLEX64: dtypes.COMPLEX128}


def _define_cumulative(primitive: Any, ufunc: Any) -> None:
    twice: dict[Any, Any] = _TWICE_AS_WIDE if ufunc is np.add else {}

    @rules.define(impl, primitive)
    def _accumulate(x: Value, *, axis: int, reverse: bool) -> Value:
        dtype = x.dtype
        wide = twice.get(dtype) or _wide(dtype)
        if wide is not dtype:
            x = x.astype(wide)
        if reverse:
            x = np.flip(x, axis)
        y = ufunc.accumulate(x, axis=axis, dtype=wide)
        if reverse:
            y = np.flip(y, axis)
        return y if wide == dtype else y.astype(dtype)


_define_cumulative(lax.cumsum_p, np.add)
_define_cumulative(lax.cumprod_p, np.multiply)
_define_cumulative(lax.cummax_p, np.maximum)
_define_cumulative(lax.cummin_p, np.minimum)


@rules.define(impl, lax.cumlogsumexp_p)
def _cumlogsumexp(x: Value, *, axis: int, reverse: bool) -> Value:
    dtype = x.dtype
    wide: Value = x.astype(_wide(dtype))
    lines = np.moveaxis(np.flip(wide, axis) if reverse else wide, axis, 0)
    out = np.empty_like(lines)
    total: Any = None
    for i, line in enumerate(lines):
        total = line if total is None else _log_add_exp(total, line)
        out[i] = total
    y: Value = np.moveaxis(out, 0, axis)
    return (np.flip(y, axis) if reverse else y).astype(dtype)


def _log_add_exp(x: Value, y: Value) -> Value:
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    # The greater real part first: the exponential of the difference cannot overflow.
    first = np.greater_equal(x.real, y.real)
    greater: Value = np.where(first, x, y)
    lesser: Value = np.where(first, y, x)
    return greater + np.log1p(np.exp(lesser - greater))
