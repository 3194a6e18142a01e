"""Kernels of sorting."""

from __future__ import annotations

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax import sorting as lax
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)

# Rows that are so many times as long as what is wanted of them are not sorted.
_FEW = 8


def _key(x: Value) -> Value:
    """Keys in an equal order that NumPy can sort: the small dtypes of ml_dtypes as wider ones."""
    if x.dtype in dtypes.CUSTOM_FLOATS:
        return x.astype(np.float32)
    if x.dtype in dtypes.SIGNED_SMALL or x.dtype in dtypes.UNSIGNED_SMALL:
        return x.astype(np.int8)
    return x


def _sorted(x: Value, axis: int, is_stable: bool) -> Value:
    """One sorted array. NumPy's sort that is not stable is ten times as fast."""
    if not is_stable or x.dtype.kind in "biu":
        # Equal integers are indistinguishable.
        return np.sort(x, axis)
    if x.dtype.kind == "f":
        found = np.sort(x, axis)
        # So are equal floats, but for the signs of zeros and the bits of nan, which is last.
        last = found[(slice(None),) * (axis % x.ndim) + (-1,)] if x.size else found
        if not (np.isnan(last).any() or (np.signbit(x) & (x == 0)).any()):
            return found
    return np.sort(x, axis, "stable")


@rules.define(impl, lax.sort_p)
def _sort(*operands: Value, dimension: int, is_stable: bool, num_keys: int) -> list[Value]:
    keys = [_key(x) for x in operands[:num_keys]]
    if len(operands) == 1 and keys[0] is operands[0]:
        return [_sorted(operands[0], dimension, is_stable)]
    if num_keys == 1:
        order = np.argsort(keys[0], dimension, "stable" if is_stable else None)
    else:
        order = np.lexsort(keys[::-1], dimension)
    return [np.take_along_axis(x, order, dimension) for x in operands]


@rules.define(impl, lax.top_k_p)
def _top_k(x: Value, *, k: int) -> list[Value]:
    # The complement descends as the key ascends, for signed and unsigned ones; the first of equal elements stays first.
    keys = ~_total_order(_key(x))
    if 0 < _FEW * k < x.shape[-1]:
        places = _smallest(keys, k)
        order = np.argsort(np.take_along_axis(keys, places, -1), -1, "stable")
        order = np.take_along_axis(places, order, -1)
    else:
        order = np.argsort(keys, -1, "stable")[..., :k]
    return [np.take_along_axis(x, order, -1), order.astype(np.int32)]


def _smallest(keys: Value, k: int) -> Value:
    """The places of the k smallest keys of each row, ascending; of equal keys the first."""
    limit = np.partition(keys, k - 1, -1)[..., k - 1 : k]
    less, equal = keys < limit, keys == limit
    missing = k - np.count_nonzero(less, -1, keepdims=True)
    chosen = less | (equal & (np.cumsum(equal, -1, dtype=np.int32) <= missing))
    return np.nonzero(chosen)[-1].reshape(*keys.shape[:-1], k)


def _total_order(x: Value) -> Value:
    """Integers in XLA's order of floats: negative nan, numbers (-0.0 below 0.0), positive nan."""
    if x.dtype.kind != "f":
        return x
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).max ^ bits, bits)
