"""Kernels of dtype conversions and copies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from plugjax.extend.core import convert_element_type_p, stop_gradient_p
from plugjax.extend.rules import RuleSet, impl
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
    """Float to integer as XLA converts: truncate, saturate, nan to 0."""
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


@rules.define(impl, stop_gradient_p, lax.stage_p)
def _identity(x: Value) -> Value:
    return x


@rules.define(impl, lax.reduce_precision_p)
def _reduce_precision(x: Value, *, exponent_bits: int, mantissa_bits: int) -> Value:
    if x.dtype.itemsize == 1:
        wide = x.astype(np.float16)
        return _reduced(wide, exponent_bits, mantissa_bits).astype(x.dtype)
    return _reduced(x, exponent_bits, mantissa_bits)


def _reduced(x: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """Round on the bits: adding just below a half to the mantissa carries into the exponent, as it should."""
    limits = ml_dtypes.finfo(x.dtype)
    word = np.dtype(f"u{x.dtype.itemsize}")
    own_mantissa, own_exponent = int(limits.nmant), int(limits.nexp)
    x = np.asarray(x)
    bits = x.view(word)
    sign = bits & word.type(1 << 8 * word.itemsize - 1)
    size = bits ^ sign
    dropped = own_mantissa - mantissa_bits
    if dropped > 0:
        odd = size >> word.type(dropped) & word.type(1)
        size = size + (odd + word.type((1 << dropped - 1) - 1))
        size = size & word.type(np.iinfo(word).max >> dropped << dropped)
    if exponent_bits < own_exponent:
        bias, own_bias = (1 << exponent_bits - 1) - 1, (1 << own_exponent - 1) - 1
        infinite = word.type((1 << own_exponent) - 1 << own_mantissa)
        exponent = size & infinite
        too_large = exponent > word.type(own_bias + bias << own_mantissa)
        too_small = exponent <= word.type(own_bias - bias << own_mantissa)
        size = np.where(too_large, infinite, np.where(too_small, word.type(0), size))
    return np.where(np.isnan(x), x, (size | sign).view(x.dtype))


@rules.define(impl, lax.copy_p)
def _copy(x: Value) -> Value:
    return np.array(x)
