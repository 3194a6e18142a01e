"""Histograms: elements counted in bins."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.errors import ShapeError, SizeError
from plugjax.numpy import reductions
from plugjax.numpy.creation import asarray
from plugjax.numpy.flat_indices import ravel_multi_index
from plugjax.numpy.indexing import ix_
from plugjax.numpy.joining import stack
from plugjax.numpy.manipulation import ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    as_operands,
    check_arraylike,
    converted,
    join_dtypes,
    pick,
    same_dtype,
    scalar,
    to_inexact,
)
from plugjax.numpy.ranges import linspace
from plugjax.numpy.shape_info import ndim, shape as shape_of
from plugjax.numpy.sorting_searching import bincount, searchsorted
from plugjax.numpy.tiling import diff

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """Edges of bins of one width over the range of the elements.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.histogram_bin_edges(jnp.array([0.0, 1.0]), bins=2)
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    if isinstance(bins, str):
        raise TypeError(
            "histogram_bin_edges: `bins` is a number or the edges; there are no rules with names."
        )
    x = to_inexact("histogram_bin_edges", a)
    count: Any = bins
    bounds: Any = range
    if ndim(bins) == 1:
        return converted(as_operand("histogram_bin_edges", bins), x.dtype)
    if range is not None and not ndim(bounds):
        raise SizeError(f"histogram_bin_edges: range is None or a pair of numbers, got {range!r}.")
    if range is None:
        low, high = reductions.min(x, initial=np.inf), reductions.max(x, initial=-np.inf)
        if not x.size:
            low, high = scalar(0, x), scalar(1, x)
    else:
        low, high = (converted(as_operand("histogram_bin_edges", v), x.dtype) for v in range)
    flat = lax.eq(low, high)
    half = scalar(0.5, x)
    low, high = pick(flat, lax.sub(low, half), low), pick(flat, lax.add(high, half), high)
    return linspace(low, high, operator.index(count) + 1, dtype=x.dtype)


def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """Counts of elements in bins, and the edges of the bins; the last bin includes its upper edge.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.histogram(jnp.array([0.0, 1.0, 1.0]), bins=2)
        (Array([1., 2.], dtype=float32), Array([0. , 0.5, 1. ], dtype=float32))
    """
    x = ravel(to_inexact("histogram", a))
    counted = lax.full_like(x, 1) if weights is None else ravel(as_operand("histogram", weights))
    if counted.shape != x.shape:
        raise ValueError("histogram: weights and a differ in shape.")
    join_dtypes(x, counted)  # Strict promotion refuses other pairs.
    edges = histogram_bin_edges(x, bins, range)
    place = searchsorted(edges, x, "right")
    last = edges.shape[0] - 1
    place = pick(lax.eq(x, edges[-1]), scalar(last, place), place)
    counts = lax.full((edges.shape[0] + 1,), scalar(0, counted)).at[place].add(counted)
    counts = lax.slice_in_dim(counts, 1, last + 1)
    if density:
        width = lax.sub(lax.slice_in_dim(edges, 1, last + 1), lax.slice_in_dim(edges, 0, last))
        counts = lax.div(lax.div(counts, converted(width, counts.dtype)), reductions.sum(counts))
    return counts, edges


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Counts of points in a grid of bins, and the edges along both axes.

    Args:
        x: ``[n]``, first coordinates.
        y: ``[n]``, second coordinates.
        bins: number of bins or edges, for both axes, or a pair of these.
        range: for each axis the first and the last edge, or ``None``.
        weights: ``[n]``.
        density: give a probability density instead of counts.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.histogram2d(jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]), bins=2)[0]
        Array([[1, 0],
               [0, 1]], dtype=int32)
    """
    x, y = as_operands("histogram2d", x, y)
    if x.ndim != y.ndim:
        raise ShapeError(
            f"histogram2d: x and y are lists of one length, got {x.aval.str_short()} and {y.aval.str_short()}."
        )
    points = stack([x, y], 1)
    each: Any = bins
    if ndim(each) and len(each) not in (1, 2):
        each = [asarray(each)] * 2
    counts, (first, second) = histogramdd(points, each, range, weights, density)
    return counts, first, second


def histogramdd(
    sample: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """Counts of points in a grid of bins, and the edges along each axis.

    Args:
        sample: ``[n, d]``, the points.
        bins: number of bins for all axes, or for each axis its number or edges.
        range: for each axis the first and the last edge, or ``None``.
        weights: ``[n]``.
        density: give a probability density instead of counts.

    Raises:
        ValueError: ``bins``, ``range`` or ``weights`` do not fit the points.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.histogramdd(jnp.array([[0.0, 0.0], [1.0, 1.0]]), bins=2)[0]
        Array([[1, 0],
               [0, 1]], dtype=int32)
    """
    if weights is None:
        points = to_inexact("histogramdd", sample)
    else:
        check_arraylike("histogramdd", weights)
        if shape_of(weights) != shape_of(sample)[:1]:
            raise ValueError("histogramdd: weights is a vector with one number per point.")
        points, weights = same_dtype("histogramdd", sample, weights, inexact=True)
    count, rank = points.shape
    if range is not None and (
        len(range) != rank or any(r is not None and np.shape(r)[0] != 2 for r in range)
    ):
        raise ValueError(
            f"histogramdd: points of shape {(count, rank)} need {rank} ranges, a pair or None each, got {range}"
        )
    given: Any = bins
    each = list(given) if isinstance(given, (list, tuple)) or ndim(given) else [given] * rank
    if len(each) != rank:
        raise ValueError(f"histogramdd: got {len(each)} bins for points with {rank} coordinates.")
    ranges = [None] * rank if range is None else range
    places, edges = [], []
    for x, b, r in zip(points.T, each, ranges, strict=True):
        edge = histogram_bin_edges(x, b, r, weights)
        place = searchsorted(edge, x, "right")
        places.append(pick(lax.eq(x, edge[-1]), place - 1, place))
        edges.append(edge)
    # One more bin at either end, for values outside.
    shape = tuple(e.shape[0] + 1 for e in edges)
    flat = ravel_multi_index(tuple(places), shape, mode="clip")
    counts = lax.reshape(bincount(flat, weights, length=math.prod(shape)), shape)
    counts = counts[(slice(1, -1),) * rank]
    if density:
        counts = converted(counts, points.dtype)
        counts = counts / reductions.sum(counts)
        for widths in ix_(*[diff(e) for e in edges]):
            counts = counts / widths
    return counts, edges
