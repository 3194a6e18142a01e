"""Order statistics: quantiles and medians, with weights, and without nan.

The axes are merged into a last one and sorted, where nan comes last. Of ``n`` elements, ``q`` lies at position ``q * (n
- 1)``, between two neighbours that the method combines; ``inverted_cdf`` takes the first element up to which the
weights sum to ``q`` of their total. Positions are computed in the dtype of ``q``, because the dtype of the elements may
be too small.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, aval_of
from plugjax.extend.meshes import ShardingLike, retyped, untyped, with_axis, without_axis
from plugjax.lax.placement import freely, laid_out
from plugjax.numpy import reductions
from plugjax.numpy.cumulative import cumsum
from plugjax.numpy.manipulation import canonical_axes
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    as_operands,
    check_arraylike,
    convert,
    converted,
    pick,
    same_dtype,
    scalar,
    to_inexact,
)
from plugjax.numpy.reductions import AxisArg

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Values below which fractions ``q`` of the elements lie, along axes.

    Shapes:
        a: ``[...]``; q: a number or a vector in [0, 1] -> axes of ``q``, then those of ``a`` that are left.

    Args:
        a: real numbers.
        q: floating: fractions.
        axis: axis or axes; all by default.
        out: not supported.
        overwrite_input: not supported.
        method: combination of two neighbours: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"``, ``"nearest"``;
            or ``"inverted_cdf"``.
        keepdims: whether to keep the axes, with size 1.
        weights: of the shape of ``a``, or of the axes: weight of each element; with ``"inverted_cdf"`` only.

    Raises:
        TypeError: no elements, or ``q`` is not floating.
        ValueError: another method, complex numbers, or weights of a shape that does not fit.
        NotImplementedError: weights with a method that does not take them.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.quantile(jnp.arange(5.0), 0.5)
        Array(2., dtype=float32)
    """
    _reject_memory("quantile", out, overwrite_input)
    return _quantile("quantile", a, q, axis, method, keepdims, False, weights)


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """As :func:`quantile`, with ``q`` in percent.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.percentile(jnp.array([1.0, 2.0, 3.0]), 50)
        Array(2., dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "percentile",
            freely(
                percentile,
                a=a,
                q=q,
                axis=axis,
                out=out,
                overwrite_input=overwrite_input,
                method=method,
                keepdims=keepdims,
                weights=weights,
            ),
            out_sharding,
        )
    _reject_memory("percentile", out, overwrite_input)
    share = _share("percentile", q)
    return _quantile("percentile", a, share, axis, method, keepdims, False, weights)


def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """As :func:`quantile`, over the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.5)
        Array(2., dtype=float32)
    """
    _reject_memory("nanquantile", out, overwrite_input)
    return _quantile("nanquantile", a, q, axis, method, keepdims, True, weights)


def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """As :func:`percentile`, over the elements that are not nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 3.0]), 50)
        Array(2., dtype=float32)
    """
    _reject_memory("nanpercentile", out, overwrite_input)
    share = _share("nanpercentile", q)
    return _quantile("nanpercentile", a, share, axis, method, keepdims, True, weights)


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


def _reject_memory(who: str, out: Any, overwrite_input: bool) -> None:
    if out is not None:
        check_arraylike(who, out)
    if out is not None or overwrite_input:
        raise ValueError(
            f"{who}: arrays are immutable, so neither out nor overwrite_input can be obeyed; leave them out."
        )


def _share(who: str, percent: ArrayLike) -> Array:
    percent = to_inexact(who, percent)
    return lax.div(percent, scalar(100, percent))


def _quantile(
    who: str,
    a: ArrayLike,
    q: ArrayLike,
    axis: AxisArg,
    method: str,
    keepdims: bool,
    skip_nan: bool,
    weights: ArrayLike | None,
) -> Array:
    x, q = as_operands(who, a, q)
    if method not in _METHODS:
        raise ValueError(f"{who}: method is one of {_METHODS}, got {method!r}")
    mass = None if weights is None else as_operand(who, weights)
    if mass is None:
        x = to_inexact(who, x)
    else:
        x, mass = _weighted(who, x, mass, axis, method)
    if x.dtype.kind == "c":
        raise ValueError(f"{who} takes real numbers: any order of complex ones is arbitrary.")
    axes = tuple(range(x.ndim)) if axis is None else canonical_axes(axis, x.ndim)
    if q.ndim > 1:
        raise ValueError(f"{who}: q is a number or a vector, got shape {q.shape}")
    if not dtypes.is_float(q.dtype):
        raise TypeError(f"{who}: q is floating, got {q.dtype.name}.")
    # A number has no axis to keep; keepdims adds one all the same.
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape)) or (1,)
    x = _merged(x, axes)
    if not x.shape[-1] and not (skip_nan and 0 in x.shape[:-1]):
        error = IndexError if skip_nan and not keepdims and x.ndim == 1 else TypeError
        raise error(f"{who}: there is no element to choose from.")
    found = _along_last(x, q, method, skip_nan, None if mass is None else _merged(mass, axes))
    found = convert(found, x.dtype)
    return lax.reshape(found, (*q.shape, *kept)) if keepdims else found


def _weighted(
    who: str, x: Operand, mass: Operand, axis: AxisArg, method: str
) -> tuple[Operand, Operand]:
    if mass.dtype.kind == "c":
        raise ValueError(f"{who}: weights are real.")
    if method != "inverted_cdf":
        raise NotImplementedError(
            f"{who}: weights go with method='inverted_cdf' only, got {method!r}."
        )
    x, mass = same_dtype(who, x, mass, inexact=True)
    if mass.shape == x.shape:
        return x, mass
    if axis is None:
        raise ValueError(f"{who}: weights of shape {mass.shape} for elements of shape {x.shape}.")
    axes = canonical_axes(axis, x.ndim)
    if mass.shape != tuple(x.shape[i] for i in axes):
        raise ValueError(
            f"{who}: weights of shape {mass.shape} have neither the shape of a, {x.shape}, nor that of its axes {axes}."
        )
    return x, lax.broadcast_in_dim(mass, x.shape, axes)


def _merged(x: Operand, axes: tuple[int, ...]) -> Operand:
    """``x`` with the axes merged into the last one."""
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    size = math.prod(x.shape[i] for i in axes)
    return lax.reshape(lax.transpose(x, (*rest, *axes)), (*(x.shape[i] for i in rest), size))


def _along_last(
    x: Operand, q: Operand, method: str, skip_nan: bool, mass: Operand | None
) -> Operand:
    """Quantiles along the last axis; axes of ``q`` come first."""
    size, rank = x.shape[-1], x.ndim - 1
    is_nan = lax.ne(x, x)
    if method == "inverted_cdf":
        mass = lax.full_like(x, 1) if mass is None else mass
        x, mass = lax.sort((x, mass), dimension=rank, num_keys=1)
    else:
        x = lax.sort(x, dimension=rank)
    # Which element a quantile is, only its values say: types say again how results are spread.
    held, x, is_nan = aval_of(x), untyped(x), untyped(is_nan)
    if skip_nan:
        count = reductions.sum(lax.bitwise_not(is_nan), -1, q.dtype)
        undefined = lax.eq(count, scalar(0, count))
    else:
        count = lax.full(x.shape[:-1], size, q.dtype)
        undefined = reductions.any(is_nan, -1)
    full = (*q.shape, *x.shape[:-1])

    def spread(value: Operand) -> Operand:
        return lax.broadcast_in_dim(value, full, tuple(range(q.ndim, len(full))))

    share = lax.broadcast_in_dim(lax.convert_element_type(q, q.dtype), full, tuple(range(q.ndim)))
    last = lax.max(lax.sub(count, scalar(1, count)), scalar(0, count))
    if mass is not None:
        place, bad = _inverted(x, mass, share, q.ndim)
        found = _at(x, lax.min(place, spread(converted(last, place.dtype))), q.ndim)
        undefined = lax.bitwise_or(undefined, bad)
    else:
        found = _between(x, lax.mul(share, spread(last)), spread(last), method, q.ndim)
    found = pick(spread(undefined), scalar(np.nan, found), found)
    kept = without_axis(held, rank)
    return retyped(found, with_axis(kept, 0, q.shape[0]) if q.ndim else kept)


def _inverted(x: Operand, mass: Operand, share: Operand, extra: int) -> tuple[Operand, Operand]:
    """Positions up to which the weights reach the share, and a mask of nan weights."""
    zero = scalar(0, mass)
    bad = lax.bitwise_or(lax.lt(mass, zero), lax.ne(mass, mass))
    sums = cumsum(pick(lax.bitwise_or(bad, lax.ne(x, x)), zero, mass), -1)
    full = (*share.shape, x.shape[-1])
    own = (*range(extra, len(full) - 1), len(full) - 1)
    sums = lax.broadcast_in_dim(sums, full, own)
    total = lax.index_in_dim(sums, -1, len(full) - 1, keepdims=False)
    target = lax.broadcast_in_dim(
        lax.mul(converted(share, total.dtype), total), full, tuple(range(len(full) - 1))
    )
    place = reductions.sum(lax.lt(sums, target), -1, np.int32)
    return place, reductions.any(bad, -1)


def _between(x: Operand, place: Operand, last: Operand, method: str, extra: int) -> Operand:
    zero = scalar(0, place)
    floor = lax.floor(place)
    low, high = (lax.max(lax.min(v, last), zero) for v in (floor, lax.ceil(place)))
    upper = lax.sub(place, floor)
    if method == "lower":
        return _at(x, low, extra)
    if method == "higher":
        return _at(x, high, extra)
    below, above = _at(x, low, extra), _at(x, high, extra)
    if method == "midpoint":
        return lax.mul(lax.add(below, above), scalar(0.5, x))
    if method == "nearest":
        return pick(lax.le(upper, scalar(0.5, upper)), below, above)
    below, above = converted(below, place.dtype), converted(above, place.dtype)
    return lax.add(lax.mul(below, lax.sub(scalar(1, upper), upper)), lax.mul(above, upper))


def _at(x: Operand, place: Operand, extra: int) -> Operand:
    """Elements at positions along the last axis; ``extra`` axes of the positions come before those of ``x``."""
    index = converted(place, dtypes.INT32)
    grids = tuple(lax.broadcasted_iota(np.int32, index.shape, extra + i) for i in range(x.ndim - 1))
    return x[(*grids, index)]
