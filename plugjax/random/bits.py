"""Random bits, and the numbers that need nothing else: uniform numbers, integers, permutations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, aval_of
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import NegativeSizeError, SizeError, TypePromotionError
from plugjax.extend.meshes import ShardingLike
from plugjax.lax import axes
from plugjax.lax.axes import ShapeLike, canonical_axis, is_symbolic
from plugjax.lax.placement import laid_out
from plugjax.lax.promotion import promote
from plugjax.lax.random_bits import multiply_add
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    broadcast_shape,
    broadcast_to_shape,
    canonical_dtype,
    check_width,
    converted,
    limits,
    pick,
    promote_shapes,
    scalar,
)
from plugjax.numpy.shape_info import ndim
from plugjax.random.keys import single_key, split
from plugjax.random.primitives import random_bits_p

__all__ = ["bits", "permutation", "randint", "uniform"]


def as_shape(who: str, shape: Any) -> tuple[int, ...]:
    """A ``shape=`` argument as a tuple.

    Raises:
        TypeError: not a sequence of integers, or a negative one.
    """
    try:
        sizes = (shape,) if not hasattr(shape, "__iter__") else shape
        found = tuple(axes.index(n) for n in sizes)
    except TypeError as error:
        raise TypeError(
            f"{who}: shape must be a sequence of static integers, got {shape!r}."
        ) from error
    if any(n < 0 for n in found):
        raise NegativeSizeError(f"{who}: sizes of axes must not be negative, got shape {found}.")
    return found


def float_dtype(who: str, dtype: DTypeLike | None) -> DType:
    """A ``dtype=`` argument that must be floating.

    Raises:
        ValueError: it is not.
    """
    found = canonical_dtype(who, float if dtype is None else dtype)
    if not dtypes.is_float(found):
        raise ValueError(f"{who} needs a float dtype, got {found.name}.")
    return found


def result_shape(who: str, shape: ShapeLike | None, *parameters: Any) -> tuple[int, ...]:
    """The requested shape, or the broadcast shape of the parameters.

    Raises:
        ValueError: parameters do not broadcast to the shape.
    """
    natural = broadcast_shape(who, *[np.shape(p) for p in parameters])
    if shape is None:
        return natural
    wanted = as_shape(who, shape)
    if broadcast_shape(who, natural, wanted) != wanted:
        raise ValueError(
            f"{who}: the shapes of the parameters need to broadcast to the shape asked for, {wanted}."
        )
    return wanted


def check_safe_cast(who: str, dtype: DType, *parameters: ArrayLike) -> None:
    """Raise if converting a parameter to ``dtype`` loses information.

    Raises:
        TypePromotionError: it would.
    """
    for value in parameters:
        aval = aval_of(as_operand(who, value))
        if promote([(aval.dtype, aval.weak_type), (dtype, False)])[0] != dtype:
            raise TypePromotionError(
                f"{who}: cannot safely cast a parameter of dtype {aval.dtype.name} to {dtype.name}. "
                "Convert it, or ask for a wider dtype."
            )


def random_bits(key: Array, width: int, shape: Sequence[int]) -> Array:
    """Unsigned integers of ``width`` random bits; ``key`` is a typed key."""
    return random_bits_p.bind(key, bit_width=width, shape=tuple(shape))


def bits(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Random bits, as unsigned integers.

    Example:
        >>> from plugjax import random
        >>> random.bits(random.key(0), (2,))
        Array([4070199207, 4202968722], dtype=uint32)
    """
    if out_sharding is not None:
        return laid_out("bits", bits(key=key, shape=shape, dtype=dtype), out_sharding)
    k = single_key("bits", key)
    wanted = canonical_dtype(
        "bits", (np.uint64 if _wide() else np.uint32) if dtype is None else dtype
    )
    if wanted.kind != "u":
        raise ValueError(f"bits needs an unsigned integer dtype, got {wanted.name}.")
    return random_bits(k, wanted.itemsize * 8, as_shape("bits", shape))


def _wide() -> bool:
    return dtypes.canonicalize(int).itemsize == 8


def uniform(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Uniform numbers in ``[minval, maxval)``.

    Shapes:
        minval, maxval: broadcast to ``shape``.

    Example:
        >>> from plugjax import random
        >>> random.uniform(random.key(0))
        Array(0.947667, dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "uniform",
            uniform(key=key, shape=shape, dtype=dtype, minval=minval, maxval=maxval),
            out_sharding,
        )
    wanted = float_dtype("uniform", dtype)
    sizes = as_shape("uniform", shape)
    k = single_key("uniform", key)
    low, high = (_bound(v, wanted, sizes) for v in (minval, maxval))
    info = limits(wanted)
    if info.bits < 8:
        raise TypeError(
            f"uniform: numbers of {wanted.name} are not drawn. Draw float32 and convert them."
        )
    # A random mantissa under the exponent of 1 gives a number in [1, 2).
    drawn = max(info.bits, 8) if info.nmant >= 8 else 8
    unsigned = np.dtype(f"uint{info.bits}")
    mantissa = converted(random_bits(k, drawn, sizes), unsigned)
    one = np.ones((), wanted).view(unsigned)[()]
    mantissa = lax.shift_right_logical(mantissa, scalar(drawn - info.nmant, mantissa))
    above_one = lax.bitcast_convert_type(lax.bitwise_or(mantissa, scalar(one, mantissa)), wanted)
    fraction = lax.sub(above_one, scalar(1, above_one))
    low, high = (scalar(v, fraction) if isinstance(v, np.generic) else v for v in (low, high))
    return lax.max(low, multiply_add(fraction, lax.sub(high, low), low))


def _bound(value: ArrayLike, dtype: DType, sizes: tuple[int, ...]) -> Any:
    check_width(value)
    if type(value) in (int, float) or isinstance(value, np.generic):
        return dtype.type(value)
    bound = lax.convert_element_type(as_operand("uniform", value), dtype)
    if not bound.ndim:
        return bound
    bound = promote_shapes(bound, len(sizes))
    if bound.ndim > len(sizes) or any(
        b not in (1, n) for b, n in zip(bound.shape, sizes, strict=True)
    ):
        raise SizeError(
            f"uniform: bounds of shape {bound.shape} are not stretched to shape {sizes}."
        )
    return bound


def randint(
    key: ArrayLike,
    shape: ShapeLike,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Uniform integers in ``[minval, maxval)``.

    Shapes:
        minval, maxval: integers, broadcast to ``shape``.

    Example:
        >>> from plugjax import random
        >>> random.randint(random.key(0), (3,), 0, 10)
        Array([9, 0, 2], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "randint",
            randint(key=key, shape=shape, minval=minval, maxval=maxval, dtype=dtype),
            out_sharding,
        )
    k = single_key("randint", key)
    wanted = canonical_dtype("randint", int if dtype is None else dtype)
    if not dtypes.is_integer(wanted):
        raise TypeError(f"randint only accepts integer dtypes; {wanted.name} came.")
    sizes = as_shape("randint", shape)
    low, high = as_operand("randint", minval), as_operand("randint", maxval)
    if not (dtypes.is_integer(low.dtype) and dtypes.is_integer(high.dtype)):
        # As integers; JAX truncates too.
        whole = dtypes.canonicalize(int)
        low, high = (v if dtypes.is_integer(v.dtype) else converted(v, whole) for v in (low, high))
    info = np.iinfo(wanted)
    if wanted.itemsize < 4:
        # Drawn as int32, in which the bound one beyond the largest number exists.
        low, high = _clamped(low, dtypes.INT32), _clamped(high, dtypes.INT32)
        low = lax.clamp(np.int32(info.min), low, np.int32(info.max))
        high = lax.clamp(np.int32(info.min), high, np.int32(info.max + 1))
        return lax.convert_element_type(_randint(k, sizes, low, high, dtypes.INT32), wanted)
    return _randint(k, sizes, low, high, wanted)


def _randint(k: Array, sizes: tuple[int, ...], low: Any, high: Any, wanted: DType) -> Array:
    beyond = _exceeds(high, np.iinfo(wanted).max)
    low, high = (_clamped(v, wanted) for v in (low, high))
    width = wanted.itemsize * 8
    unsigned = np.dtype(f"uint{width}")
    first, second = split(k)
    upper, lower = random_bits(first, width, sizes), random_bits(second, width, sizes)

    full = broadcast_shape("randint", low.shape, high.shape)
    low, high = (
        v if v.shape == full else broadcast_to_shape("randint", v, full) for v in (low, high)
    )
    some = lax.gt(high, low)
    # An empty interval gives minval. A maximum beyond the dtype makes the interval one longer;
    # length 0 means all integers.
    span = pick(some, lax.convert_element_type(lax.sub(high, low), unsigned), unsigned.type(1))
    span = pick(
        lax.bitwise_and(broadcast_to_shape("randint", beyond, full), some),
        lax.add(span, unsigned.type(1)),
        span,
    )
    # Reduce a number of twice the width, (upper * 2**width + lower) mod span, to keep the bias
    # small.
    half = lax.rem(
        broadcast_to_shape("randint", lax.full((), unsigned.type(1 << (width // 2))), full), span
    )
    weight = lax.rem(lax.mul(half, half), span)
    span, weight, low = (
        promote_shapes(v, len(sizes)) if v.ndim else v for v in (span, weight, low)
    )
    spans, weights, lows = (broadcast_to_shape("randint", v, sizes) for v in (span, weight, low))
    offset = lax.add(lax.mul(lax.rem(upper, spans), weights), lax.rem(lower, spans))
    return lax.add(lows, lax.convert_element_type(lax.rem(offset, spans), wanted))


def _exceeds(value: Any, limit: int) -> Any:
    own = np.iinfo(value.dtype)
    return (
        lax.gt(value, value.dtype.type(limit)) if limit < own.max else lax.full(value.shape, False)
    )


def _clamped(value: Any, dtype: DType) -> Any:
    own, info = np.iinfo(value.dtype), np.iinfo(dtype)
    low, high = max(own.min, info.min), min(own.max, info.max)
    value = lax.clamp(value.dtype.type(low), value, value.dtype.type(high))
    return lax.convert_element_type(value, dtype)


def permutation(
    key: ArrayLike,
    x: ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The elements along an axis in random order; for an integer, those of ``arange``.

    Args:
        key: a key.
        x: array or integer.
        axis: the axis.
        independent: whether every row along the axis gets its own order.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Example:
        >>> from plugjax import random
        >>> sorted(random.permutation(random.key(0), 4).tolist())
        [0, 1, 2, 3]
    """
    if out_sharding is not None:
        return laid_out(
            "permutation",
            permutation(key=key, x=x, axis=axis, independent=independent),
            out_sharding,
        )
    k = single_key("permutation", key)
    given: Any = x
    if not ndim(given):
        if not dtypes.is_integer(as_operand("permutation", x).dtype):
            raise TypeError("permutation needs an integer, or an array with an axis.")
        canonical_axis(axis, 1)
        return shuffled(k, lax.iota(dtypes.canonicalize(int), int(given)), 0)
    values = as_operand("permutation", x)
    axis = axis + values.ndim if axis < 0 else axis
    if not 0 <= axis < values.ndim:
        raise ValueError(f"permutation: an array of rank {values.ndim} has no axis {axis}.")
    if independent or values.ndim == 1:
        return shuffled(k, values, axis)
    order = shuffled(k, lax.iota(dtypes.canonicalize(int), values.shape[axis]), 0)
    return values.take(order, axis, mode="clip")


def shuffled(key: Array, x: Array, axis: int) -> Array:
    """Elements sorted by random numbers, repeated until ties of 32-bit numbers do not matter."""
    if is_symbolic(x.size):
        raise NotImplementedError(
            f"shape polymorphism for `permutation` or `shuffle` for arrays of non-constant size: {x.size}. How often they are sorted "
            "depends on the size. Export the function for a size that is a number."
        )
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(0xFFFFFFFF))
    for _ in range(rounds):
        key, subkey = split(key)
        order = random_bits(subkey, 32, x.shape)
        _, x = lax.sort((order, x), dimension=axis, num_keys=1)
    return x
