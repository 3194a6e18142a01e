"""Kernels of reductions by arbitrary operations, and of reductions over windows.

Sums, maxima and minima of boxes are taken axis by axis. Other operations are generated functions that run on whole
arrays, with one call for each position in the window.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.rules import RuleSet, impl
from plugjax.extend.transforms import Axis, batch_jaxpr
from plugjax.lax import windowed as lax
from plugjax.lax.conv_shape import dilated, window_count
from plugjax.lax.folds import highest, lowest, reduce_p
from plugjax_numpy.codegen import host_function
from plugjax_numpy.kernels import Value, mark_fresh

rules = RuleSet(__name__)
mark_fresh(rules, lax.reduce_window_sum_p, lax.reduce_window_max_p, lax.reduce_window_min_p)

Ints = tuple[int, ...]
_WIDE = (np.dtype(np.float16), *dtypes.CUSTOM_FLOATS)


def padded(x: Value, neutral: Any, padding: Any, base_dilation: Ints) -> Value:
    """The array with holes and padding filled; negative padding cuts elements off."""
    if not any(map(any, padding)) and all(b == 1 for b in base_dilation):
        return x
    spread = np.full(
        [dilated(n, b) for n, b in zip(x.shape, base_dilation, strict=True)], neutral, x.dtype
    )
    spread[tuple(slice(None, None, b) for b in base_dilation)] = x
    wide = [(max(lo, 0), max(hi, 0)) for lo, hi in padding]
    if any(map(any, wide)):
        spread = np.pad(spread, wide, constant_values=neutral)
    return spread[
        tuple(
            slice(max(-lo, 0), n - max(-hi, 0))
            for (lo, hi), n in zip(padding, spread.shape, strict=True)
        )
    ]


def _boxes(ufunc: np.ufunc, neutral: Callable[[Any], Any]) -> Callable[..., Value]:
    def kernel(
        x: Value,
        *,
        window_dimensions: Ints,
        window_strides: Ints,
        padding: Any,
        base_dilation: Ints,
        window_dilation: Ints,
    ) -> Value:
        operand, dtype = x, x.dtype
        x = np.asarray(x, np.float32 if ufunc is np.add and dtype in _WIDE else dtype)
        x = padded(x, neutral(dtype), padding, base_dilation)
        for axis, (w, s, d) in enumerate(
            zip(window_dimensions, window_strides, window_dilation, strict=True)
        ):
            count = window_count(x.shape[axis], dilated(w, d), s)
            if w == 1 and count == x.shape[axis]:
                continue

            def part(
                place: int,
                x: Value = x,
                axis: int = axis,
                s: int = s,
                d: int = d,
                count: int = count,
            ) -> Value:
                first = place * d
                return x[
                    (slice(None),) * axis
                    + (slice(first, first + (count - 1) * s + 1 if count else first, s),)
                ]

            out = np.array(part(0))
            for place in range(1, w):
                ufunc(out, part(place), out=out)
            x = out
        # A window of one element returns the operand. Kernels marked fresh must not return its
        # memory.
        return np.array(x, dtype) if x is operand else np.asarray(x, dtype)

    return kernel


rules.define(impl, lax.reduce_window_sum_p)(_boxes(np.add, lambda d: 0))
rules.define(impl, lax.reduce_window_max_p)(_boxes(np.maximum, lowest))
rules.define(impl, lax.reduce_window_min_p)(_boxes(np.minimum, highest))


def _on_arrays(jaxpr: ClosedJaxpr, size: int) -> Callable[..., Sequence[Value]]:
    """A program on scalars as a function of vectors."""
    program, _ = batch_jaxpr(jaxpr, Axis(size), [True] * len(jaxpr.in_avals), True)
    return host_function(program)


def _fold(
    jaxpr: ClosedJaxpr, inits: Sequence[Value], shape: Sequence[int], parts: Any
) -> list[Value]:
    """Combine initial values with each of ``parts``.

    A part is a tuple of arrays of ``shape``, with a mask of the valid elements if not all are.
    """
    size = int(np.prod(shape, dtype=int))
    run = _on_arrays(jaxpr, size)
    carry: Sequence[Value] = [np.full(size, v, np.asarray(v).dtype) for v in inits]
    for part, there in parts:
        found = run(*carry, *(np.reshape(x, size) for x in part))
        if there is not None:
            chosen = np.reshape(there, size)
            found = [np.where(chosen, new, old) for new, old in zip(found, carry, strict=True)]
        carry = found
    return [np.reshape(c, shape) for c in carry]


@rules.define(impl, reduce_p)
def _reduce(*args: Value, jaxpr: ClosedJaxpr, dimensions: Ints, computation: Any) -> list[Value]:
    count = len(args) // 2
    shape = [n for d, n in enumerate(args[0].shape) if d not in dimensions]
    parts = math.prod(args[0].shape[d] for d in dimensions)
    moved = [
        np.moveaxis(x, dimensions, range(len(dimensions))).reshape(parts, *shape)
        if shape or x.ndim
        else x[None]
        for x in args[:count]
    ]
    return _fold(jaxpr, args[count:], shape, ((part, None) for part in zip(*moved, strict=True)))


@rules.define(impl, lax.reduce_window_p)
def _reduce_window(
    *args: Value,
    jaxpr: ClosedJaxpr,
    window_dimensions: Ints,
    window_strides: Ints,
    padding: Any,
    base_dilation: Ints,
    window_dilation: Ints,
) -> list[Value]:
    count = len(args) // 2
    inits = args[count:]
    xs = [padded(x, v, padding, base_dilation) for x, v in zip(args[:count], inits, strict=True)]
    there = padded(np.ones(args[0].shape, bool), False, padding, base_dilation)
    extents = list(map(dilated, window_dimensions, window_dilation))
    counts = list(map(window_count, xs[0].shape, extents, window_strides))

    def parts() -> Any:
        for place in itertools.product(*map(range, window_dimensions)):
            at = tuple(
                slice(p * d, p * d + (c - 1) * s + 1 if c else p * d, s)
                for p, d, c, s in zip(place, window_dilation, counts, window_strides, strict=True)
            )
            yield [x[at] for x in xs], None if whole else there[at]

    whole = there.all()
    return _fold(jaxpr, inits, counts, parts())
