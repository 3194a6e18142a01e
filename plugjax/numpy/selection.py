"""Choosing between values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import BOOL
from plugjax.extend.execution import eager_program
from plugjax.numpy.arithmetic import maximum, minimum
from plugjax.numpy.creation import asarray
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    check_arraylike,
    limits,
    pick,
    promote_args,
    promote_many,
    same_dtype,
    scalar,
)
from plugjax.numpy.sorting_searching import nonzero

__all__ = [
    "clip", "nan_to_num", "select", "where",
]  # fmt: skip


def clip(
    arr: ArrayLike | None = None,
    /,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
) -> Array:
    """``arr`` moved into the interval from ``min`` to ``max``; a bound that is ``None`` does not bound.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.clip(jnp.arange(5), 1, 3)
        Array([1, 1, 2, 3, 3], dtype=int32)
    """
    if arr is None:
        raise ValueError("clip: No input was provided.")
    x = as_operand("clip", arr)
    if any(
        isinstance(v, complex) or getattr(getattr(v, "dtype", None), "kind", "") == "c"
        for v in (x, min, max)
    ):
        raise ValueError("clip takes real numbers: complex ones have no order to clip in.")
    if min is not None:
        x = maximum(min, x)
    if max is not None:
        x = minimum(max, x)
    return x


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """``x`` with nan and infinities replaced, by default by zero and the largest finite numbers.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nan_to_num(jnp.array([jnp.nan, 1.0]))
        Array([0., 1.], dtype=float32)
    """
    x = as_operand("nan_to_num", x)
    if not dtypes.is_inexact(x.dtype):
        return x
    if x.dtype.kind == "c":
        return lax.complex(
            nan_to_num(lax.real(x), copy, nan, posinf, neginf),
            nan_to_num(lax.imag(x), copy, nan, posinf, neginf),
        )
    info = limits(x.dtype)
    high = info.max if posinf is None else posinf
    low = info.min if neginf is None else neginf
    x = pick(lax.ne(x, x), _as_dtype_of(nan, x), x)
    x = pick(lax.eq(x, scalar(np.inf, x)), _as_dtype_of(high, x), x)
    return pick(lax.eq(x, scalar(-np.inf, x)), _as_dtype_of(low, x), x)


def _as_dtype_of(value: ArrayLike, x: Array) -> Array:
    return asarray(value, x.dtype)


@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> Array: ...


@overload
def where(
    condition: ArrayLike,
    x: None = None,
    y: None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> tuple[Array, ...]: ...


@eager_program(3)
def where(
    condition: ArrayLike,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Any:
    """Choose elementwise between ``x`` and ``y``; with one argument, where it is true (see ``nonzero``).

    Shapes:
        condition, x, y: broadcast together -> ``[...]``.

    Differs from NumPy:
        ``size`` and ``fill_value`` make the shape of the one-argument form static.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.where(jnp.arange(3) > 1, 10, 20)
        Array([20, 20, 10], dtype=int32, weak_type=True)
    """
    if x is None and y is None:
        return nonzero(as_operand("where", condition), size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value belong to where(condition), without x and y.")
    check_arraylike("where", condition, x, y)
    which = as_operand("where", condition)
    if which.dtype != BOOL:
        which = lax.ne(which, scalar(0, which))
    ranks = (getattr(x, "ndim", 0), getattr(y, "ndim", 0))
    if ranks[0] == ranks[1] or 0 in ranks:
        on_true, on_false = promote_args("where", x, y)
    else:
        # They broadcast with the condition, which is not a rank promotion.
        on_true, on_false = same_dtype("where", x, y)
    if type(on_true) is Array and on_true.aval is on_false.aval and which.shape == on_true.shape:
        return lax.select(which, on_true, on_false)
    return pick(which, on_true, on_false)


def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Array:
    """For each element, the choice whose condition is the first that holds.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.select([jnp.array([True, False])], [jnp.array([1, 2])], default=9)
        Array([1, 9], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"select: got {len(condlist)} conditions for {len(choicelist)} choices.")
    if not condlist:
        raise ValueError("select: no conditions came.")
    *choices, result = promote_many("select", *choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = pick(as_operand("select", condition), choice, result)
    return result
