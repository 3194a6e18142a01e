"""Cumulative sums and products."""

from __future__ import annotations

from collections.abc import Callable

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import BOOL, DTypeLike
from plugjax.extend.execution import eager_program
from plugjax.numpy.manipulation import canonical_axis, ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    canonical_dtype,
    convert,
    converted,
    reject_out,
    scalar,
)
from plugjax.numpy.reductions import wide_integer

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum"]


def _cumulative(
    who: str,
    scan: Callable[..., Array],
    a: ArrayLike,
    axis: int | None,
    dtype: DTypeLike | None,
    out: None,
    promote_integers: bool = False,
) -> Array:
    reject_out(who, out)
    x = as_operand(who, a)
    if axis is None:
        x, axis = ravel(x), 0
    position = canonical_axis(axis, x.ndim)
    if dtype is not None:
        wanted = canonical_dtype(who, dtype)
    else:
        wanted = wide_integer(x.dtype) if promote_integers or x.dtype == BOOL else x.dtype
    if wanted == BOOL:
        wanted = dtypes.canonicalize(int)
        return converted(scan(converted(converted(x, BOOL), wanted), position), BOOL)
    return scan(convert(x, wanted), position)


@eager_program(1)
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Sums of the elements so far, along an axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.cumsum(jnp.arange(4))
        Array([0, 1, 3, 6], dtype=int32)
    """
    return _cumulative("cumsum", lax.cumsum, a, axis, dtype, out)


@eager_program(1)
def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Products of the elements so far, along an axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.cumprod(jnp.array([1, 2, 3]))
        Array([1, 2, 6], dtype=int32)
    """
    return _cumulative("cumprod", lax.cumprod, a, axis, dtype, out)


def _cumulative_api(
    who: str,
    scan: Callable[..., Array],
    x: ArrayLike,
    axis: int | None,
    dtype: DTypeLike | None,
    initial: int | None,
    promote_integers: bool = True,
) -> Array:
    x = as_operand(who, x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(
                f"{who}: name an axis; only a vector does without, and this array has {x.ndim} axes."
            )
        axis = 0
    position = canonical_axis(axis, x.ndim)
    found = _cumulative(who, scan, x, position, dtype, None, promote_integers)
    if initial is not None:
        first = lax.full((*x.shape[:position], 1, *x.shape[position + 1 :]), scalar(initial, found))
        found = lax.concatenate([first, found], position)
    return found


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Sums of the elements so far (array API); with ``include_initial``, a 0 in front.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
        Array([0, 1, 3, 6], dtype=int32)
    """
    return _cumulative_api(
        "cumulative_sum", lax.cumsum, x, axis, dtype, 0 if include_initial else None
    )


def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Products of the elements so far (array API); with ``include_initial``, a 1 in front.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True)
        Array([1, 1, 2, 6], dtype=int32)
    """
    return _cumulative_api(
        "cumulative_prod", lax.cumprod, x, axis, dtype, 1 if include_initial else None, False
    )
