"""Order statistics, correlation, and reductions that skip nan."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.core import dtypes
from plugjax.core.array import Array
from plugjax.core.dtypes import DTypeLike
from plugjax.numpy import cumulative, reductions
from plugjax.numpy.linear_algebra import dot
from plugjax.numpy.logic import isnan
from plugjax.numpy.manipulation import canonical_axis, concatenate
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    canonical_dtype,
    convert,
    converted,
    pick,
    promote_inexact,
    reject_out,
    same_dtype,
    scalar,
    to_inexact,
)
from plugjax.numpy.reductions import AxisArg, reduced_axes
from plugjax.numpy.sorting_searching import sort

__all__ = [
    "average", "corrcoef", "cov", "median", "nanargmax", "nanargmin", "nancumprod", "nancumsum",
    "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar",
    "percentile", "quantile",
]  # fmt: skip


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Values below which fractions ``q`` of the elements lie, along axes.

    Shapes:
        a: ``[...]``; q: ``[...]`` in [0, 1] -> axes of ``q``, then those of ``a`` that are left.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.quantile(jnp.arange(5.0), 0.5)
        Array(2., dtype=float32)
    """
    return _quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, False)


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """As :func:`quantile`, with ``q`` in percent.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.percentile(jnp.array([1.0, 2.0, 3.0]), 50)
        Array(2., dtype=float32)
    """
    share = lax.div(to_inexact("percentile", q), scalar(100, to_inexact("percentile", q)))
    return _quantile("percentile", a, share, axis, out, overwrite_input, method, keepdims, False)


def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """As :func:`quantile`, over the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.5)
        Array(2., dtype=float32)
    """
    return _quantile("nanquantile", a, q, axis, out, overwrite_input, method, keepdims, True)


def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """As :func:`percentile`, over the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 3.0]), 50)
        Array(2., dtype=float32)
    """
    share = lax.div(to_inexact("nanpercentile", q), scalar(100, to_inexact("nanpercentile", q)))
    return _quantile("nanpercentile", a, share, axis, out, overwrite_input, method, keepdims, True)


def _quantile(
    who: str,
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg,
    out: None,
    overwrite_input: bool,
    method: str,
    keepdims: bool,
    skip_nan: bool,
) -> Array:
    reject_out(who, out)
    if overwrite_input:
        raise ValueError(
            f"{who}: arrays are immutable, so overwrite_input=True is not possible; leave it out."
        )
    if method not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ValueError(
            f"{who}: method is 'linear', 'nearest', 'midpoint', 'lower' or 'higher', got {method!r}"
        )
    x, q = to_inexact(who, a), to_inexact(who, q)
    if x.dtype.kind == "c":
        raise ValueError(f"{who} takes real numbers: any order of complex ones is arbitrary.")
    q = converted(as_operand(who, q), x.dtype)
    if q.ndim > 1:
        raise ValueError(f"{who}: q is a number or a vector, got shape {q.shape}")
    axes = reduced_axes(axis, x.ndim)
    rest = [i for i in range(x.ndim) if i not in axes]
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    x = lax.transpose(x, (*rest, *axes))
    x = lax.reshape(x, (*x.shape[: len(rest)], int(np.prod(x.shape[len(rest) :]))))
    size = x.shape[-1]
    is_nan = lax.ne(x, x)
    x = sort(x, -1)
    rows = q.shape + (1,) * len(rest)
    fraction = lax.reshape(q, rows)
    if skip_nan:
        count = reductions.sum(lax.bitwise_not(is_nan), -1, x.dtype)
    else:
        count = lax.full(x.shape[:-1], scalar(size, x))
    full = (*q.shape, *x.shape[:-1])
    fraction = lax.broadcast_in_dim(fraction, full, tuple(range(len(full))))
    count = lax.broadcast_in_dim(count, full, tuple(range(q.ndim, len(full))))
    last = lax.max(lax.sub(count, scalar(1, x)), scalar(0, x))
    place = lax.mul(fraction, lax.sub(count, scalar(1, x)))
    low = (
        lax.clamp(scalar(0, x), lax.floor(place), last)
        if not full
        else lax.max(lax.min(lax.floor(place), last), scalar(0, x))
    )
    high = lax.max(lax.min(lax.ceil(place), last), scalar(0, x))
    upper = lax.sub(place, lax.floor(place))
    below, above = (_at_last_axis(x, converted(i, dtypes.INT32), q.ndim) for i in (low, high))
    if method == "lower":
        found = below
    elif method == "higher":
        found = above
    elif method == "midpoint":
        found = lax.mul(lax.add(below, above), scalar(0.5, x))
    elif method == "nearest":
        found = pick(lax.le(upper, scalar(0.5, x)), below, above)
    else:
        found = lax.add(lax.mul(below, lax.sub(scalar(1, x), upper)), lax.mul(above, upper))
    if skip_nan:
        undefined = lax.eq(count, scalar(0, x))
    else:
        any_nan = reductions.any(is_nan, -1)
        undefined = lax.broadcast_in_dim(any_nan, full, tuple(range(q.ndim, len(full))))
    found = convert(pick(undefined, scalar(np.nan, x), found), x.dtype)
    return lax.reshape(found, (*q.shape, *shape)) if keepdims else found


def _at_last_axis(x: Array, index: Array, extra: int) -> Array:
    rank = x.ndim - 1
    grids = tuple(lax.broadcasted_iota(np.int32, index.shape, extra + i) for i in range(rank))
    return x[(*grids, index)]


def median(
    a: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Middle value along axes; the mean of the middle two if there are two.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.median(jnp.array([3.0, 1.0, 2.0]))
        Array(2., dtype=float32)
    """
    return quantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def nanmedian(
    a: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """As :func:`median`, over the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanmedian(jnp.array([1.0, jnp.nan, 3.0]))
        Array(2., dtype=float32)
    """
    return nanquantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def _without_nan(who: str, a: ArrayLike, value: Any) -> tuple[Array, Array]:
    """The array with nan replaced, and where nan was."""
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
    return present if where is None else present & as_operand("where", where)


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
    return reductions.var(x, axis, dtype, out, ddof, keepdims, where=_present(x, where), mean=mean)


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
    """Sums so far, nan counted as 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nancumsum(jnp.array([2.0, jnp.nan, 3.0]))
        Array([2., 2., 5.], dtype=float32)
    """
    return cumulative.cumsum(_without_nan("nancumsum", a, 0)[0], axis, dtype, out)


def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Products so far, nan counted as 1.

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
        >>> jnp.nanargmin(jnp.array([1.0, jnp.nan, 3.0]))
        Array(0, dtype=int32)
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
        fweights: ``[observations]``, integers: how often each was made.
        aweights: ``[observations]``: how much each counts.
        dtype: to compute in.

    Raises:
        ValueError: more than two axes, or a dtype that is not floating or complex.
        RuntimeError: weights that do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.cov(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    if dtype is not None and not dtypes.is_inexact(canonical_dtype("cov", dtype)):
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
        weights = converted(weights, x.dtype)
        mass = reductions.sum(weights)
        deviation = x - (reductions.sum(x * weights, 1) / mass)[:, None]
        scaled = deviation * weights
        total = mass
        if lost and aweights is None:
            total = mass - lost
        elif lost:
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


def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True) -> Array:
    """Matrix of correlation coefficients; arguments as of :func:`cov`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.corrcoef(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])), 3)
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar)
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
