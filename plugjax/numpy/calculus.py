"""Differences, integrals and interpolation of sampled functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.numpy.creation import asarray
from plugjax.numpy.cumulative import cumsum
from plugjax.numpy.joining import concatenate
from plugjax.numpy.manipulation import canonical_axes, moveaxis
from plugjax.numpy.promotion import ArrayLike, Operand, as_operand, same_dtype, to_inexact
from plugjax.numpy.selection import clip, where
from plugjax.numpy.shape_info import ndim
from plugjax.numpy.sorting_searching import argsort, searchsorted
from plugjax.numpy.tiling import diff

__all__ = ["gradient", "interp", "trapezoid", "unwrap"]


def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: int | Sequence[int] | None = None,
    edge_order: int | None = None,
) -> Any:
    """Derivatives along axes: central differences inside, one-sided ones at the edges.

    Args:
        f: values.
        *varargs: one spacing for all axes, or one for each: a number, or the coordinates along the axis.
        axis: axes; all by default.
        edge_order: only ``None``.

    Returns:
        One array for one axis, else a list of them.

    Raises:
        ValueError: fewer than two values, or coordinates that do not fit.
        NotImplementedError: ``edge_order`` was given.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.gradient(jnp.array([0.0, 1.0, 4.0, 9.0]))
        Array([1., 2., 4., 5.], dtype=float32)
    """
    if edge_order is not None:
        raise NotImplementedError("gradient has no choice of edge_order; leave it out.")
    x, *given = same_dtype("gradient", f, *varargs, inexact=True)
    axes = tuple(range(x.ndim)) if axis is None else canonical_axes(axis, x.ndim)
    if not axes:
        return []
    if min(x.shape[i] for i in axes) < 2:
        raise ValueError("gradient: an axis has fewer than two values, which give no slope.")
    if len(given) not in (0, 1, len(axes)):
        raise TypeError(
            f"gradient: got {len(given)} spacings for axis={axis}; give none, one, or one per axis."
        )
    each: list[Any] = [*given] or [1.0]
    spacings = each if len(each) == len(axes) else each * len(axes)
    found = [_gradient(x, h, i) for i, h in zip(axes, spacings, strict=True)]
    return found[0] if len(axes) == 1 else found


def _gradient(x: Operand, spacing: Any, axis: int) -> Array:
    def cut(y: Operand, start: int, stop: int | None) -> Array:
        return lax.slice_in_dim(y, start, stop, axis=axis)

    steps = cut(x, 1, None) - cut(x, 0, -1)
    if np.ndim(spacing) == 0:
        slopes = steps / spacing
        inner = (cut(slopes, 1, None) + cut(slopes, 0, -1)) * 0.5
    elif np.ndim(spacing) == 1:
        if len(spacing) != x.shape[axis]:
            raise ValueError("gradient: coordinates and values along their axis differ in number.")
        widths = diff(spacing).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        slopes = steps / widths
        left, right = cut(widths, 0, -1), cut(widths, 1, None)
        # The slope of the parabola through three points: each difference is weighted by the width
        # on the other side.
        inner = (right * cut(slopes, 0, -1) + left * cut(slopes, 1, None)) / (left + right)
    else:
        raise ValueError("gradient: a spacing is a number, or a vector of coordinates.")
    return concatenate((cut(slopes, 0, 1), inner, cut(slopes, -1, None)), axis)


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integral along an axis by the trapezoidal rule.

    Args:
        y: values.
        x: coordinates, along the axis or of the shape of ``y``.
        dx: distance of neighbours where there are no coordinates.
        axis: along which.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.trapezoid(jnp.array([1.0, 2.0, 3.0]))
        Array(4., dtype=float32)
    """
    if x is None:
        values, widths = to_inexact("trapezoid", y), asarray(dx)
        if widths.ndim:
            widths = lax.expand_dims(widths, tuple(range(values.ndim - widths.ndim)))
            widths = moveaxis(widths, axis, -1)
    else:
        values, points = same_dtype("trapezoid", y, x, inexact=True)
        widths = diff(points) if points.ndim == 1 else moveaxis(diff(points, axis=axis), axis, -1)
    values = moveaxis(values, axis, -1)
    if widths.ndim == 0 or widths.shape[-1] == 1:
        width = widths if widths.ndim == 0 else widths[..., 0]
        return width * (values.sum(-1) - 0.5 * (values[..., 0] + values[..., -1]))
    return 0.5 * (widths * (values[..., 1:] + values[..., :-1])).sum(-1)


def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * math.pi
) -> Array:
    """Angles without jumps of a period, so that neighbours differ by less than ``discont``.

    Units:
        p, discont, period: one unit; radians by default.

    Raises:
        ValueError: complex input.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.unwrap(jnp.array([0.0, 3.0, 6.5 - 2 * jnp.pi]))
        Array([0.       , 3.       , 0.2168147], dtype=float32)
    """
    angles, turn = same_dtype("unwrap", p, period)
    if angles.dtype.kind == "c":
        raise ValueError("unwrap takes real angles, got complex ones.")
    if not angles.shape[axis]:
        return angles
    half = turn // 2 if angles.dtype.kind in "iu" else turn / 2
    limit = turn / 2 if discont is None else discont
    steps = diff(angles, axis=axis)
    small = (steps + half) % turn - half
    small = where((small == -half) & (steps > 0), half, small)
    change = where(abs(steps) < limit, 0, small - steps)
    first = lax.slice_in_dim(angles, 0, 1, axis=axis)
    rest = lax.slice_in_dim(angles, 1, None, axis=axis)
    return concatenate((first, rest + cumsum(change, axis)), axis)


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Linear interpolation between points.

    Args:
        x: coordinates of the results.
        xp: ``[n]``, increasing coordinates of the points, unless there is a period.
        fp: ``[n]``, their values.
        left: value below the first point; its own by default; ``"extrapolate"`` continues the first line.
        right: the same above the last point.
        period: period of the coordinates.

    Raises:
        ValueError: shapes that do not fit, complex coordinates, or another word than ``"extrapolate"``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.interp(1.5, jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0]))
        Array(15., dtype=float32)
    """
    at, points = same_dtype("interp", x, xp, inexact=True)
    values = to_inexact("interp", fp)
    if points.shape != values.shape or points.ndim != 1:
        raise ValueError(
            f"interp: xp and fp are two vectors of one length, got shapes {points.shape} and {values.shape}"
        )
    for name, word in (("left", left), ("right", right)):
        if isinstance(word, str) and word != "extrapolate":
            raise ValueError(
                f"interp: `{name}` is a number or the word 'extrapolate', got {word!r}"
            )
    if at.dtype.kind == "c":
        raise ValueError("interp: x holds complex points; real ones are needed.")
    if period is not None:
        if ndim(period) != 0:
            raise ValueError(f"interp: period is one number, got {period}")
        turn = abs(as_operand("interp", period))
        at, points = at % turn, points % turn
        order = argsort(points)
        points, values = points[order], values[order]
        points = concatenate([points[-1:] - turn, points, points[:1] + turn])
        values = concatenate([values[-1:], values, values[:1]])
    i = clip(searchsorted(points, at, "right"), 1, points.shape[0] - 1)
    start, value = points[i - 1], values[i - 1]
    width = points[i] - start
    # Coinciding points: no slope, and no nan in the derivative.
    flat = abs(width) <= np.spacing(np.finfo(points.dtype).eps)
    share = (at - start) / where(flat, 1, width)
    found = where(flat, value, value + share * (values[i] - value))
    if period is None:
        if not isinstance(left, str):
            found = where(at < points[0], values[0] if left is None else left, found)
        if not isinstance(right, str):
            found = where(at > points[-1], values[-1] if right is None else right, found)
    return found
