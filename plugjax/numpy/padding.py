"""Padding: an array with more elements before and after each axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.lax.axes import has_symbols
from plugjax.lax.families import scalar
from plugjax.numpy.creation import asarray
from plugjax.numpy.functional import apply_along_axis
from plugjax.numpy.indexing import take
from plugjax.numpy.manipulation import canonical_axes
from plugjax.numpy.promotion import ArrayLike, as_operand, converted
from plugjax.numpy.quantiles import median
from plugjax.numpy.ranges import linspace

__all__ = ["pad"]

# Mode -> the keyword that it takes.
_KEYWORDS = {
    "constant": "constant_values",
    "edge": None,
    "empty": None,
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "wrap": None,
}


def pad(
    array: ArrayLike,
    pad_width: ArrayLike | Sequence[int | Sequence[int]] | Mapping[int, Any],
    mode: str | Callable[..., Any] = "constant",
    **kwargs: Any,
) -> Array:
    """The array padded with values.

    Args:
        array: the array.
        pad_width: one number, a pair, or a pair for each axis.
        mode: ``constant``, ``edge``, ``reflect``, ``symmetric``, ``wrap``, ``empty``, ``linear_ramp``, ``mean``, ``median``,
            ``maximum``, ``minimum``, or a function ``(vector, (before, after), axis, kwargs) -> vector``. The function is called
            for each axis with vectors that are padded with zeros.
        **kwargs: of ``constant``: ``constant_values``; of ``linear_ramp``: ``end_values``; of the statistics: ``stat_length``,
            the number of elements at an edge that count; of ``reflect`` and ``symmetric``: ``reflect_type``, ``"even"`` or
            ``"odd"``. A function gets them all.

    Raises:
        NotImplementedError: an unknown mode.
        ValueError: a keyword that the mode does not take, a negative width, or a ``stat_length`` of 0.

    Differs from NumPy:
        A function returns the vector; arrays cannot be written in place.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.pad(jnp.arange(2), 1)
        Array([0, 0, 1, 0], dtype=int32)
    """
    x = as_operand("pad", array)
    widths = _pairs(x.ndim, pad_width)
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError(f"pad: a width is negative: {widths}. Slice to cut elements off.")
    if callable(mode):
        return _pad_by_function(x, widths, mode, kwargs)
    if mode not in _KEYWORDS:
        raise NotImplementedError(
            f"Unimplemented padding mode {mode!r} for pad; expected one of {', '.join(_KEYWORDS)}, or a function."
        )
    others = kwargs.keys() - {_KEYWORDS[mode]}
    if others:
        raise ValueError(f"pad: unsupported keyword arguments for mode {mode!r}: {others}")
    if mode in ("constant", "empty"):
        return _pad_constant(x, widths, kwargs.get("constant_values", 0))
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        return _pad_by_index(x, widths, mode, kwargs.get("reflect_type", "even"))
    if mode == "linear_ramp":
        return _pad_ramp(x, widths, _pairs(x.ndim, kwargs.get("end_values", 0)))
    return _pad_statistic(x, widths, mode, kwargs.get("stat_length"))


def _pairs(rank: int, given: Any) -> list[tuple[Any, Any]]:
    if isinstance(given, dict):
        if not given:
            raise TypeError("pad_width: integers are needed, got {}")
        full = [(0, 0)] * rank
        for axis, width in given.items():
            full[canonical_axes(axis, rank)[0]] = (
                tuple(width) if hasattr(width, "__iter__") else (width, width)
            )
        return full
    if not np.ndim(given):
        return [(given, given)] * rank
    entries = [tuple(e) if np.ndim(e) else e for e in given]
    if all(not isinstance(e, tuple) for e in entries):
        pair = (entries[0], entries[-1])
        if len(entries) > 2:
            raise ValueError(f"pad_width: cannot read {given!r} as a pair for each of {rank} axes")
        return [pair] * rank
    if any(isinstance(e, tuple) and len(e) > 2 for e in entries):
        raise ValueError(f"pad_width: expected a number or a pair for each axis, got {given!r}")
    pairs = [(e[0], e[-1]) for e in entries if isinstance(e, tuple)]
    if len(pairs) == 1:
        pairs *= rank
    if len(pairs) != rank:
        raise ValueError(f"pad_width: got {len(pairs)} pairs for an array with {rank} axes")
    return pairs


def _pad_constant(x: Array, widths: list[tuple[int, int]], values: Any) -> Array:
    fills = _pairs(x.ndim, values)
    flat = [f for pair in fills for f in pair]
    if not x.ndim:
        return x
    if all(f is flat[0] for f in flat):
        fill = converted(as_operand("pad", flat[0]), x.dtype)
        return lax.pad(x, fill, [(low, high, 0) for low, high in widths])
    for axis, ((low, high), pair) in enumerate(zip(widths, fills, strict=True)):
        for width, fill, front in ((low, pair[0], True), (high, pair[1], False)):
            config = [(0, 0, 0)] * x.ndim
            config[axis] = (width, 0, 0) if front else (0, width, 0)
            x = lax.pad(x, converted(as_operand("pad", fill), x.dtype), config)
    return x


def _pad_by_function(
    x: Array, widths: list[tuple[int, int]], function: Callable[..., Any], options: dict[str, Any]
) -> Array:
    x = _pad_constant(x, widths, 0)
    for axis, pair in enumerate(widths):
        x = apply_along_axis(function, axis, x, pair, axis, options)
    return x


def _pad_by_index(x: Array, widths: list[tuple[int, int]], mode: Any, reflect_type: Any) -> Array:
    """Elements of the array itself, by their indices."""
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type is 'even' or 'odd', got {reflect_type!r}.")
    for axis, (low, high) in enumerate(widths):
        size = x.shape[axis]
        if not (low or high):
            continue
        if reflect_type == "odd" and not (mode == "reflect" and size == 1):
            skipped = int(mode == "reflect")
            x = _odd_before(x, low, size, skipped, axis)
            x = lax.rev(x, (axis,))
            x = lax.rev(_odd_before(x, high, size, skipped, axis), (axis,))
            continue
        if has_symbols((size, low, high)):
            x = _pad_edge(x, axis, low, high, mode)
            continue
        source = np.pad(np.arange(size, dtype=np.int32), (low, high), mode)
        x = take(x, asarray(source), axis, mode="clip")
    return x


def _pad_edge(x: Array, axis: int, low: int, high: int, mode: str) -> Array:
    """The padding of an axis whose size is not known, or by widths that are not."""
    if mode != "edge":
        raise NotImplementedError(
            f"jnp.pad: mode {mode!r} needs sizes that are numbers, got {x.aval.str_short()}."
        )
    places = lax.iota(np.int32, low + x.shape[axis] + high)
    places = lax.sub(places, scalar(low, places))
    # Places beyond an end are moved to it.
    return take(x, lax.max(places, np.int32(0)), axis, mode="clip")


def _odd_before(x: Array, width: int, size: int, skipped: int, axis: int) -> Array:
    """Odd reflections about the first element, in steps of as many elements as the array has."""
    while width:
        count = min(width, size - skipped)
        edge = lax.slice_in_dim(x, 0, 1, axis=axis)
        part = lax.rev(lax.slice_in_dim(x, skipped, skipped + count, axis=axis), (axis,))
        x = lax.concatenate([lax.sub(lax.mul(x.dtype.type(2), edge), part), x], axis)
        width -= count
    return x


def _pad_statistic(x: Array, widths: list[tuple[int, int]], mode: str, lengths: Any) -> Array:
    pairs = [(None, None)] * x.ndim if lengths is None else _pairs(x.ndim, lengths)
    for axis, ((low, high), (first, last)) in enumerate(zip(widths, pairs, strict=True)):
        size = x.shape[axis]
        edges = []
        for width, length, at_end in ((low, first, False), (high, last, True)):
            if length == 0:
                raise ValueError("pad: stat_length of 0 yields no value for padding")
            count = size if length is None else min(length, size)
            start = size - count if at_end else 0
            value = _statistic(lax.slice_in_dim(x, start, start + count, axis=axis), mode, axis)
            shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
            edges.append(lax.broadcast_in_dim(value, shape, tuple(range(x.ndim))))
        x = lax.concatenate([edges[0], x, edges[1]], axis)
    return x


def _statistic(x: Array, mode: str, axis: int) -> Array:
    if mode in ("maximum", "minimum"):
        return (x.max if mode == "maximum" else x.min)(axis, keepdims=True)
    value = x.mean(axis, keepdims=True) if mode == "mean" else median(x, axis, keepdims=True)
    return converted(value.round() if x.dtype.kind in "iu" else value, x.dtype)


def _pad_ramp(x: Array, widths: list[tuple[int, int]], ends: list[tuple[Any, Any]]) -> Array:
    for axis, ((low, high), pair) in enumerate(zip(widths, ends, strict=True)):
        size = x.shape[axis]
        first, last = (
            lax.slice_in_dim(x, 0, 1, axis=axis),
            lax.slice_in_dim(x, size - 1, size, axis=axis),
        )
        before, after = (
            converted(
                linspace(
                    end, lax.squeeze(edge, (axis,)), n, endpoint=False, dtype=x.dtype, axis=axis
                ),
                x.dtype,
            )
            for end, edge, n in ((pair[0], first, low), (pair[1], last, high))
        )
        x = lax.concatenate([before, x, lax.rev(after, (axis,))], axis)
    return x
