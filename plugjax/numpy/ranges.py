"""Values between two ends: at equal distances, or with a constant ratio."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.backend import DeviceLike
from plugjax.extend.core import Array, device_put
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.lax import axes
from plugjax.lax.axes import canonical_axis
from plugjax.numpy.arithmetic import divide, multiply, power
from plugjax.numpy.exponential import log10
from plugjax.numpy.manipulation import moveaxis
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operands,
    broadcast_ranks,
    broadcast_to_shape,
    canonical_dtype,
    converted,
    join_dtypes,
    scalar,
)

__all__ = ["geomspace", "linspace", "logspace"]


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> Array: ...


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: DeviceLike | None = None,
) -> tuple[Array, Array]: ...


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike | None = None,
) -> Any:
    """``num`` values at equal distances: the first is ``start`` and, if ``endpoint``, the last is ``stop``.

    Shapes:
        start, stop: broadcast together -> ``[..., num, ...]``, the new axis at ``axis``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linspace(0, 1, 3)
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    num = axes.index(num)
    if num < 0:
        raise ValueError(f"linspace: num={num} is negative; it counts values.")
    low, high, wanted = range_ends("linspace", start, stop, dtype)
    computed = low.dtype
    divisions = num - 1 if endpoint else num
    if num and divisions:
        low, high = broadcast_ranks("linspace", [low, high])
    shape = np.broadcast_shapes(low.shape, high.shape)
    low, high = (broadcast_to_shape("linspace", v, shape) for v in (low, high))
    step = (
        lax.div(lax.sub(high, low), scalar(divisions, low))
        if divisions > 0
        else lax.full((), np.nan, computed)
    )
    if num > 1:
        ramp = lax.div(lax.iota(_real(computed), divisions), _real(computed).type(divisions))
        ramp = lax.reshape(converted(ramp, computed), (divisions, *(1,) * len(shape)))
        first, last = (lax.reshape(v, (1, *shape)) for v in (low, high))
        # Interpolate, rather than add multiples of the step: both ends are exact.
        values = lax.add(lax.mul(first, lax.sub(scalar(1, ramp), ramp)), lax.mul(last, ramp))
        if endpoint:
            values = lax.concatenate([values, last], 0)
    else:
        values = lax.reshape(low, (1, *shape)) if num else lax.full((0, *shape), scalar(0, low))
    if axis != 0:
        order = list(range(1, values.ndim))
        order.insert(axis if axis >= 0 else values.ndim + axis, 0)
        values = lax.transpose(values, order)
    if dtypes.is_integer(wanted):
        values = lax.floor(values)
    values = converted(values, wanted)
    values = values if device is None else device_put(values, device)
    return (values, step) if retstep else values


def range_ends(
    who: str, start: ArrayLike, stop: ArrayLike, dtype: DTypeLike | None
) -> tuple[Operand, Operand, DType]:
    """Both ends of a range in the dtype of the computation, and the dtype of the result.

    The latter is ``dtype``, or the one that the ends promote to.
    """
    ends = as_operands(who, start, stop)
    wanted = (
        dtypes.to_inexact(join_dtypes(*ends)[0]) if dtype is None else canonical_dtype(who, dtype)
    )
    computed = dtypes.canonicalize(dtypes.to_inexact(wanted))
    low, high = (lax.convert_element_type(v, computed) for v in ends)
    return low, high, dtypes.canonicalize(wanted)


def _real(dtype: DType) -> DType:
    return {dtypes.COMPLEX64: dtypes.FLOAT32, dtypes.COMPLEX128: dtypes.FLOAT64}.get(dtype, dtype)


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """``base`` to the power of evenly spaced exponents.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.logspace(0, 2, 3), 3)
        Array([  1.,  10., 100.], dtype=float32)
    """
    low, high, wanted = range_ends("logspace", start, stop, dtype)
    exponents = linspace(low, high, num, endpoint, axis=axis)
    return lax.convert_element_type(power(base, exponents), wanted)


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Values from ``start`` to ``stop`` with a constant ratio.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.geomspace(1, 100, 3), 3)
        Array([  1.,  10., 100.], dtype=float32)
    """
    low, high, wanted = range_ends("geomspace", start, stop, dtype)
    # For negative or complex ends, ratios are relative to their direction.
    sign = lax.sign(low)
    exponents = (log10(divide(low, sign)), log10(divide(high, sign)))
    values = multiply(sign, logspace(*exponents, num, endpoint, dtype=low.dtype))
    values = moveaxis(values, 0, canonical_axis(axis, values.ndim))
    return lax.convert_element_type(values, wanted)
