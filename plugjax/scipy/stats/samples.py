"""Statistics of samples along an axis: the most common value, ranks, the standard error of the mean.

Equal values form runs in a sorted sample. The ends of a run give the number of occurrences of a value, and the ranks
that tied values share.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.lax.axes import canonical_axis
from plugjax.numpy.promotion import ArrayLike, as_operand, to_inexact

__all__ = ["ModeResult", "mode", "rankdata", "sem"]

_NAN_POLICIES = ("propagate", "omit", "raise")
_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """The most common values, and their counts."""

    mode: Array
    count: Array  # type: ignore[assignment]  # SciPy's name, which a tuple has


def _only_propagate(who: str, nan_policy: str) -> None:
    if nan_policy not in _NAN_POLICIES:
        raise ValueError(
            f"{who}: nan_policy is 'propagate', 'omit' or 'raise', got {nan_policy!r}."
        )
    if nan_policy != "propagate":
        raise NotImplementedError(
            f"{who}: nan_policy {nan_policy!r} is not supported, as the shape or an error would depend on values. Look for "
            "nan before the call."
        )


def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most common value along an axis, the least of them if there are several, and its count.

    Args:
        a: array; nans count as equal.
        axis: the axis, or ``None`` for all values.
        nan_policy: only ``"propagate"``.
        keepdims: whether to keep the axis, with size 1.

    Raises:
        ValueError: another policy than SciPy's.
        NotImplementedError: the policies ``"omit"`` and ``"raise"``, as in JAX.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import stats
        >>> stats.mode(jnp.array([2, 4, 1, 4]))
        ModeResult(mode=Array(4, dtype=int32), count=Array(2, dtype=int32))
    """
    values: Any = jnp.atleast_1d(as_operand("mode", a))
    _only_propagate("mode", nan_policy)
    if axis is None:
        kept = (1,) * values.ndim if keepdims else ()
        values, along = values.reshape(-1), 0
    else:
        along = canonical_axis(axis, values.ndim)
        size = (1,) if keepdims else ()
        kept = (*values.shape[:along], *size, *values.shape[along + 1 :])
    values = jnp.moveaxis(values, along, -1)
    if not values.shape[-1]:
        floating = dtypes.canonicalize(float)
        return ModeResult(jnp.full(kept, np.nan, floating), jnp.zeros(kept, floating))
    values = jnp.sort(values, -1)
    places = _places(values)
    lengths = places - _first_places(_run_begins(values), places) + 1
    best = jnp.argmax(lengths, -1, keepdims=True)
    found, count = (jnp.take_along_axis(v, best, -1) for v in (values, lengths))
    return ModeResult(found.reshape(kept), count.reshape(kept))


def _places(values: Any) -> Any:
    dtype = dtypes.canonicalize(int)
    return lax.broadcasted_iota(dtype, values.shape, values.ndim - 1)


def _run_begins(values: Any) -> Any:
    """Whether a sorted value differs from the one before it."""
    here, before = values[..., 1:], values[..., :-1]
    differs = (here != before) & ~((here != here) & (before != before))
    return jnp.concatenate([jnp.ones((*values.shape[:-1], 1), bool), differs], -1)


def _first_places(begins: Any, places: Any) -> Any:
    """For each value, the index of the start of its run."""
    return lax.cummax(jnp.where(begins, places, 0), axis=places.ndim - 1)


def _last_places(begins: Any, places: Any) -> Any:
    """For each value, the index of the end of its run."""
    ends = jnp.concatenate([begins[..., 1:], jnp.ones((*begins.shape[:-1], 1), bool)], -1)
    far = places.shape[-1]
    return lax.cummin(jnp.where(ends, places, far), axis=places.ndim - 1, reverse=True)


def rankdata(
    a: ArrayLike,
    method: str = "average",
    *,
    axis: int | None = None,
    nan_policy: str = "propagate",
) -> Array:
    """Ranks of the values, from 1; all nan where one of the values is.

    Args:
        a: array.
        method: the rank of equal values: ``"average"``, ``"min"`` or ``"max"`` of their ranks, ``"dense"`` to count
            distinct values, or ``"ordinal"`` to rank them in their order in ``a``.
        axis: the axis along which to rank, or ``None`` for all values.
        nan_policy: only ``"propagate"``.

    Returns:
        Ranks of default floating dtype, of the shape of ``a``, or flat without an axis.

    Raises:
        ValueError: another method, or another policy than SciPy's.
        NotImplementedError: the policies ``"omit"`` and ``"raise"``, as in JAX.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import stats
        >>> stats.rankdata(jnp.array([1, 3, 2, 3]))
        Array([1. , 3.5, 2. , 3.5], dtype=float32)
    """
    values: Any = as_operand("rankdata", a)
    _only_propagate("rankdata", nan_policy)
    if method not in _METHODS:
        raise ValueError(
            f"rankdata: method is one of {', '.join(map(repr, _METHODS))}, got '{method}'."
        )
    if axis is None:
        return _ranks(values.reshape(-1), method)
    along = canonical_axis(axis, values.ndim)
    return jnp.moveaxis(_ranks(jnp.moveaxis(values, along, -1), method), -1, along)


def _ranks(values: Any, method: str) -> Array:
    floating = dtypes.canonicalize(float)
    if not values.size:
        return jnp.zeros(values.shape, floating)
    order = jnp.argsort(values, -1)
    ranks = _sorted_ranks(jnp.take_along_axis(values, order, -1), method)
    found = jnp.take_along_axis(ranks, jnp.argsort(order, -1), -1).astype(floating)
    unknown = jnp.any(values != values, -1, keepdims=True)
    return jnp.where(unknown, np.nan, found)


def _sorted_ranks(values: Any, method: str) -> Any:
    places, begins = _places(values), _run_begins(values)
    if method == "ordinal":
        return places + 1
    if method == "dense":
        return lax.cumsum(begins.astype(places.dtype), axis=places.ndim - 1)
    if method == "min":
        return _first_places(begins, places) + 1
    if method == "max":
        return _last_places(begins, places) + 1
    twice = _first_places(begins, places) + _last_places(begins, places)
    return 0.5 * twice.astype(float) + 1


def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """Standard error of the mean, the standard deviation over the root of the number of values.

    Args:
        a: array.
        axis: the axis, or ``None`` for all values.
        ddof: what is subtracted from the number of values to estimate the variance.
        nan_policy: ``"propagate"``, or ``"omit"`` to leave out nans.
        keepdims: whether to keep the axis, with size 1.

    Raises:
        ValueError: another policy.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import stats
        >>> stats.sem(jnp.array([1.0, 3.0]))
        Array(1., dtype=float32)
    """
    values: Any = to_inexact("sem", a)
    if nan_policy == "propagate":
        count = values.size if axis is None else values.shape[axis]
        deviation = jnp.std(values, axis, ddof=ddof, keepdims=keepdims)
    elif nan_policy == "omit":
        count = jnp.sum(values == values, axis, keepdims=keepdims)
        deviation = jnp.nanstd(values, axis, ddof=ddof, keepdims=keepdims)
    else:
        raise ValueError(f"sem: nan_policy is 'propagate' or 'omit', got {nan_policy}.")
    return deviation / jnp.sqrt(count).astype(values.dtype)
