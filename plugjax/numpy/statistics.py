"""Averages, correlation, and reductions that skip nan."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.numpy import cumulative, reductions
from plugjax.numpy.joining import concatenate
from plugjax.numpy.linear_algebra import dot
from plugjax.numpy.logic import isnan
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_mask,
    as_operand,
    canonical_dtype,
    converted,
    join_dtypes,
    pick,
    promote_inexact,
    reject_out,
    same_dtype,
    scalar,
    to_inexact,
)
from plugjax.numpy.reductions import AxisArg, reduced_axes

__all__ = [
    "average", "corrcoef", "cov", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin",
    "nanprod", "nanstd", "nansum", "nanvar",
]  # fmt: skip


def _without_nan(who: str, a: ArrayLike, value: Any) -> tuple[Array, Array]:
    """The array with nan replaced, and the mask of nan."""
    x = as_operand(who, a)
    missing = isnan(x)
    return (pick(missing, scalar(value, x), x) if dtypes.is_inexact(x.dtype) else x), missing


def nansum(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Sum of the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nansum(jnp.array([1.0, jnp.nan, 3.0]))
        Array(4., dtype=float32)
    """
    return reductions.sum(
        _without_nan("nansum", a, 0)[0], axis, dtype, out, keepdims, initial, where
    )


def nanprod(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Product of the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0]))
        Array(6., dtype=float32)
    """
    return reductions.prod(
        _without_nan("nanprod", a, 1)[0], axis, dtype, out, keepdims, initial, where
    )


def _nan_extremum(
    who: str,
    reduce: Callable[..., Array],
    a: ArrayLike,
    neutral: float,
    axis: AxisArg,
    keepdims: bool,
    **kwargs: Any,
) -> Array:
    x, missing = _without_nan(who, a, neutral)
    found = reduce(x, axis, keepdims=keepdims, **kwargs)
    if not dtypes.is_inexact(x.dtype):
        return found
    return pick(reductions.all(missing, axis, keepdims=keepdims), scalar(np.nan, found), found)


def nanmax(
    a: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Largest element that is not nan; nan if all are.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanmax(jnp.array([1.0, jnp.nan, 3.0]))
        Array(3., dtype=float32)
    """
    reject_out("nanmax", out)
    return _nan_extremum(
        "nanmax", reductions.max, a, -np.inf, axis, keepdims, initial=initial, where=where
    )


def nanmin(
    a: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Smallest element that is not nan; nan if all are.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanmin(jnp.array([1.0, jnp.nan, 3.0]))
        Array(1., dtype=float32)
    """
    reject_out("nanmin", out)
    return _nan_extremum(
        "nanmin", reductions.min, a, np.inf, axis, keepdims, initial=initial, where=where
    )


def nanmean(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """Mean of the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0]))
        Array(2., dtype=float32)
    """
    x = as_operand("nanmean", a)
    return reductions.mean(x, axis, dtype, out, keepdims, where=_present(x, where))


def _present(x: Array, where: ArrayLike | None) -> Array:
    present = lax.bitwise_not(isnan(x))
    return present if where is None else present & as_mask("where", where)


def nanvar(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Variance of the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 3.0]))
        Array(1., dtype=float32)
    """
    x = as_operand("nanvar", a)
    if isinstance(ddof, complex):
        raise TypeError(f"nanvar: ddof is a real number, got {ddof!r}.")
    present = _present(x, where)
    # A nan that is left out would still reach the derivative as 0 times nan.
    x = pick(isnan(x), scalar(0, x), x)
    return reductions.var(x, axis, dtype, out, ddof, keepdims, where=present, mean=mean)


def nanstd(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Standard deviation of the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 3.0]))
        Array(1., dtype=float32)
    """
    return lax.sqrt(nanvar(a, axis, dtype, out, ddof, keepdims, where, mean))


def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Cumulative sums, nan counted as 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nancumsum(jnp.array([2.0, jnp.nan, 3.0]))
        Array([2., 2., 5.], dtype=float32)
    """
    return cumulative.cumsum(_without_nan("nancumsum", a, 0)[0], axis, dtype, out)


def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Cumulative products, nan counted as 1.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
        Array([2., 2., 6.], dtype=float32)
    """
    return cumulative.cumprod(_without_nan("nancumprod", a, 1)[0], axis, dtype, out)


def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the largest element that is not nan; -1 if all are.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanargmax(jnp.array([1.0, jnp.nan, 3.0]))
        Array(2, dtype=int32)
    """
    return _nan_index("nanargmax", reductions.argmax, a, -np.inf, axis, out, keepdims)


def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the smallest element that is not nan; -1 if all are.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanargmin(jnp.array([3.0, jnp.nan, 1.0]))
        Array(2, dtype=int32)
    """
    return _nan_index("nanargmin", reductions.argmin, a, np.inf, axis, out, keepdims)


def _nan_index(
    who: str,
    find: Callable[..., Array],
    a: ArrayLike,
    neutral: float,
    axis: int | None,
    out: None,
    keepdims: bool | None,
) -> Array:
    x, missing = _without_nan(who, a, neutral)
    found = find(x, axis, out, keepdims)
    return pick(reductions.all(missing, axis, keepdims=bool(keepdims)), scalar(-1, found), found)


@overload
def average(
    a: ArrayLike,
    axis: AxisArg = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> Array: ...


@overload
def average(
    a: ArrayLike,
    axis: AxisArg = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...


def average(
    a: ArrayLike,
    axis: AxisArg = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Weighted mean along axes; with ``returned``, also the sum of the weights.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.average(jnp.array([1.0, 3.0]), weights=jnp.array([3.0, 1.0]))
        Array(1.5, dtype=float32)
    """
    if weights is None:
        x = to_inexact("average", a)
        found = reductions.mean(x, axis, keepdims=keepdims)
        axes = reduced_axes(axis, x.aval.ndim)
        total = lax.full_like(found, math.prod([x.shape[i] for i in axes]))
        return (found, total) if returned else found
    x, w = as_operand("average", a), as_operand("average", weights)
    if x.shape != w.shape:
        if axis is None or not isinstance(axis, int):
            raise ValueError(
                f"average: weights of shape {w.shape} for a of shape {x.shape} need one axis, an integer."
            )
        position = canonical_axis(axis, x.ndim)
        if w.ndim != 1 or w.shape[0] != x.shape[position]:
            raise ValueError(
                f"average: weights of shape {w.shape} do not fit axis {position} of shape {x.shape}."
            )
        w = lax.broadcast_in_dim(w, x.shape, (position,))
    x, w = promote_inexact("average", x, w)
    total = reductions.sum(w, axis, keepdims=keepdims)
    found = lax.div(reductions.sum(lax.mul(x, w), axis, keepdims=keepdims), total)
    return (found, total) if returned else found


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Covariance matrix of variables in rows, observations in columns.

    Shapes:
        m: ``[n, observations]`` -> ``[n, n]``; a single variable gives a scalar.

    Args:
        m: observations.
        y: more variables.
        rowvar: variables are in rows; else in columns.
        bias: divide by the number of observations rather than by one less.
        ddof: what to subtract from the number of observations instead.
        fweights: ``[observations]``, integers: number of repetitions of each.
        aweights: ``[observations]``: weight of each.
        dtype: dtype of the computation.

    Raises:
        ValueError: more than two axes, or a dtype that is not floating or complex.
        RuntimeError: weights that do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.cov(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    if dtype is not None and not (
        dtypes.has_arrays(dtype) and dtypes.is_inexact(canonical_dtype("cov", dtype))
    ):
        raise ValueError(f"cov: the result is floating or complex, got dtype={dtype!r}")
    parts = same_dtype("cov", m, *(() if y is None else (y,)), inexact=True)
    x = concatenate([_variables("cov", part, rowvar) for part in parts], 0)
    if not x.shape[0]:
        return lax.full((0, 0), 0, x.dtype)
    weights = _weights(x.shape[1], fweights, aweights)
    if dtype is not None:
        x = converted(x, canonical_dtype("cov", dtype))
    lost = (0 if bias else 1) if ddof is None else ddof
    total: Any = x.shape[1] - lost
    if weights is None:
        deviation = scaled = lax.sub(x, reductions.mean(x, 1, keepdims=True))
    else:
        join_dtypes(weights, x)  # Strict promotion refuses other pairs.
        weights = converted(weights, x.dtype)
        mass = reductions.sum(weights)
        deviation = x - (reductions.sum(x * weights, 1) / mass)[:, None]
        scaled = deviation * weights
        total = mass
        if lost and aweights is None:
            total = mass - lost
        elif lost and aweights is not None:
            share = converted(to_inexact("cov", aweights), x.dtype)
            total = mass - lost * reductions.sum(weights * abs(share)) / mass
    conjugate = lax.conj(scaled) if x.dtype.kind == "c" else scaled
    found = dot(deviation, lax.transpose(conjugate, (1, 0))) / total
    return lax.reshape(found, ()) if found.size == 1 else found


def _weights(count: int, fweights: ArrayLike | None, aweights: ArrayLike | None) -> Operand | None:
    """Product of both kinds of weights."""
    found = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        w = as_operand("cov", given)
        if w.ndim > 1:
            raise RuntimeError(f"cov: {name} is a vector, got shape {w.shape}")
        if w.shape != (count,):
            raise RuntimeError(f"cov: {count} observations have {name} of shape {w.shape}.")
        if name == "fweights" and not dtypes.is_integer(w.dtype):
            raise TypeError(f"cov: fweights are counts, integers, got dtype {w.dtype.name}.")
        found = abs(w) if found is None else found * abs(w)
    return found


def _variables(who: str, m: ArrayLike, rowvar: bool) -> Array:
    x = to_inexact(who, m)
    if x.ndim > 2:
        raise ValueError(f"{who}: m is a vector or a matrix, got shape {x.shape}")
    x = lax.expand_dims(x, tuple(range(2 - x.ndim))) if x.ndim < 2 else x
    return lax.transpose(x, (1, 0)) if not rowvar and x.shape[0] != 1 else x


def corrcoef(
    x: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    dtype: DTypeLike | None = None,
) -> Array:
    """Matrix of correlation coefficients; arguments as of :func:`cov`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.corrcoef(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])), 3)
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return lax.div(c, c)
    spread = lax.sqrt(lax.real(c.diagonal()) if c.dtype.kind == "c" else c.diagonal())
    scale = converted(spread, c.dtype)
    c = lax.div(lax.div(c, lax.expand_dims(scale, (1,))), lax.expand_dims(scale, (0,)))
    if c.dtype.kind == "c":
        one = np.float64(1).astype(spread.dtype)
        return lax.complex(
            lax.max(lax.min(lax.real(c), one), -one), lax.max(lax.min(lax.imag(c), one), -one)
        )
    return lax.max(lax.min(c, scalar(1, c)), scalar(-1, c))
