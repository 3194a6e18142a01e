"""Kernels of dtype conversions and copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.core import RuleSet, impl
from plugjax.core.vocabulary import convert_element_type_p, stop_gradient_p
from plugjax.lax import conversion as lax
from plugjax_numpy.kernels import Value, mark_fresh

rules = RuleSet(__name__)
mark_fresh(rules, convert_element_type_p)


@rules.define(impl, convert_element_type_p)
def _convert(x: Value, *, new_dtype: np.dtype[Any], weak_type: bool) -> Value:
    kind = x.dtype.kind
    if kind == "c" and new_dtype.kind not in "cb":
        x = x.real
        kind = "f"
    if kind in "fV" and new_dtype.kind in "iu" and new_dtype != x.dtype:
        return _saturated(np.asarray(x), new_dtype)
    return x.astype(new_dtype)


def _saturated(x: Value, dtype: np.dtype[Any]) -> Value:
    """Float to integer as XLA converts: towards zero, out-of-range values to the nearest limit, nan to 0."""
    if dtype.name in ("int2", "int4", "uint2", "uint4"):
        return x.astype(np.int32).astype(dtype)
    limits = np.iinfo(dtype)
    wide = x.astype(np.float64) if x.dtype.itemsize < 8 else x
    converted = wide.astype(dtype)
    high, low = wide >= float(limits.max), wide <= float(limits.min)
    if np.any(high) or np.any(low) or np.any(np.isnan(wide)):
        converted = np.where(high, limits.max, np.where(low, limits.min, converted))
        converted = np.where(np.isnan(wide), 0, converted).astype(dtype)
    return converted


@rules.define(impl, lax.bitcast_convert_type_p)
def _bitcast(x: Value, *, new_dtype: np.dtype[Any]) -> Value:
    x = np.asarray(x)
    old, new = x.dtype.itemsize, new_dtype.itemsize
    if old == new:
        return x.view(new_dtype)
    if old > new:
        return np.ascontiguousarray(x)[..., None].view(new_dtype).reshape(*x.shape, old // new)
    return np.ascontiguousarray(x).view(new_dtype)[..., 0]


@rules.define(impl, stop_gradient_p)
def _stop_gradient(x: Value) -> Value:
    return x


@rules.define(impl, lax.copy_p)
def _copy(x: Value) -> Value:
    return np.array(x)
