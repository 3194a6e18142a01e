"""Reductions over moving windows.

IREE 3.13 takes two reductions of several operands for one if their shapes agree, even if their operands differ (`several_windows`). So
these are expanded: axis by axis, the elements of each window are slices of the padded array, combined in order. Elements that no window
reads are cut off (`unread_ends`), and padding becomes an operation of its own where it looks like that of a cumulative sum
(`cumulative_windows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plugjax.extend import registry
from plugjax.extend.core import ClosedJaxpr, Primitive, ShapedArray, eval_closed, memoise
from plugjax.extend.rules import RuleSet, lowering
from plugjax.extend.transforms import stage, vmap
from plugjax.lax import windowed as lax
from plugjax.lax.conv_shape import dilated, window_count
from plugjax.lax.joining import pad
from plugjax.lax.shape import broadcast_in_dim, full, reshape
from plugjax.lax.slicing import slice_in_dim
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.reducers import MAXIMUM, MINIMUM, SUM, Reducer
from plugjax.stablehlo.reduction import reduce_window
from plugjax.stablehlo.windowed import windowed
from plugjax_iree.lowering.sums import accumulator
from plugjax_iree.workarounds.switch import is_on
from plugjax_iree.workarounds.window_starts import started

rules = RuleSet(__name__)

# Up to here each element of a window is a slice of its own; beyond, windows of twice the length are made of pairs.
_LONGEST_UNROLLED = 8


def _define(primitive: Primitive, reducer: Reducer) -> None:
    general = windowed(reducer)

    @rules.define(lowering, primitive, platform="iree")
    def rule(ctx: EqnContext, x: Value, **params: Any) -> Value:
        (aval,) = ctx.avals_in
        if 0 in aval.shape or 0 in ctx.avals_out[0].shape:
            return general(ctx, x, **params)
        (out,) = ctx.avals_out
        windows = Windows(
            params["window_dimensions"],
            params["window_strides"],
            params["padding"],
            params["base_dilation"],
            params["window_dilation"],
        )
        x, aval, windows = arranged(x, aval, reducer.initial(aval.dtype), windows)
        wide = accumulator(aval.dtype) if reducer is SUM else aval.dtype
        found = reduce_window(
            reducer,
            convert(x, aval, wide),
            started(ctx, reducer.initial(wide)),
            aval.update(dtype=wide),
            out.update(dtype=wide),
            window=windows.dimensions,
            padding=windows.padding,
            strides=windows.strides,
            base_dilation=windows.base_dilation,
            window_dilation=windows.dilation,
        )
        return convert(found, out.update(dtype=wide), out.dtype)


_define(lax.reduce_window_sum_p, SUM)
_define(lax.reduce_window_max_p, MAXIMUM)
_define(lax.reduce_window_min_p, MINIMUM)


class Windows(NamedTuple):
    """Windows over an array: what stands for each axis."""

    dimensions: Sequence[int]
    strides: Sequence[int]
    padding: Sequence[tuple[int, int]]
    base_dilation: Sequence[int]
    dilation: Sequence[int]


def arranged(
    x: Value, aval: ShapedArray, neutral: Value, windows: Windows
) -> tuple[Value, ShapedArray, Windows]:
    """An array without elements that no window reads.

    Padding and dilation become an operation of their own if the array is dilated, and if the padding looks to IREE like that of a
    cumulative sum, whose result would be as long as the operand.
    """
    if not is_on("unread_ends"):
        return x, aval, windows
    cut = _without_rest(aval.shape, windows)
    spread = any(b != 1 for b in windows.base_dilation) and _has_rest(aval.shape, windows)
    cumulative = is_on("cumulative_windows") and _looks_cumulative(aval.shape, windows)
    if spread or cumulative:
        x, aval = padded(x, aval, neutral, windows)
        none = ((0, 0),) * aval.ndim
        windows = windows._replace(padding=none, base_dilation=(1,) * aval.ndim)
        cut = _without_rest(aval.shape, windows)
    sizes, padding = cut
    shorter = ShapedArray(sizes, aval.dtype)
    if shorter != aval:
        x = mlir.static_slice(x, shorter, [0] * aval.ndim, sizes)
    return x, shorter, windows._replace(padding=padding)


def _rest(size: int, windows: Windows, axis: int) -> int:
    """How many places at the end of an axis no window reads."""
    reach = dilated(windows.dimensions[axis], windows.dilation[axis])
    total = dilated(size, windows.base_dilation[axis]) + sum(windows.padding[axis])
    return (total - reach) % windows.strides[axis] if total >= reach else 0


def _has_rest(shape: Sequence[int], windows: Windows) -> bool:
    return any(_rest(size, windows, axis) for axis, size in enumerate(shape))


def _looks_cumulative(shape: Sequence[int], windows: Windows) -> bool:
    return any(
        1 < size == windows.dimensions[axis] and size - 1 in windows.padding[axis]
        for axis, size in enumerate(shape)
    )


def _without_rest(
    shape: Sequence[int], windows: Windows
) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """Sizes and padding without elements that no window reads; dilated axes stay."""
    cut, pads = list(shape), list(windows.padding)
    for axis, (low, high) in enumerate(pads):
        if windows.base_dilation[axis] == 1:
            rest = _rest(shape[axis], windows, axis)
            padded = min(rest, max(high, 0))
            pads[axis] = (low, high - padded)
            cut[axis] -= min(rest - padded, cut[axis] - 1)
    return tuple(cut), pads


def padded_shape(shape: Sequence[int], windows: Windows) -> tuple[int, ...]:
    """The shape of an array with its padding and holes."""
    axes = zip(shape, windows.base_dilation, windows.padding, strict=True)
    return tuple(dilated(size, gap) + low + high for size, gap, (low, high) in axes)


def padded(
    x: Value, aval: ShapedArray, neutral: Value, windows: Windows
) -> tuple[Value, ShapedArray]:
    """The array with its padding and holes."""
    if not any(map(any, windows.padding)) and set(windows.base_dilation) <= {1}:
        return x, aval
    result = ShapedArray(padded_shape(aval.shape, windows), aval.dtype)
    attributes = {
        "edge_padding_low": mlir.i64s([low for low, _ in windows.padding]),
        "edge_padding_high": mlir.i64s([high for _, high in windows.padding]),
        "interior_padding": mlir.i64s([gap - 1 for gap in windows.base_dilation]),
    }
    return mlir.value("stablehlo.pad", result, [x, neutral], attributes), result


@rules.define(lowering, lax.reduce_window_p, platform="iree")
def _reduce_window(
    ctx: EqnContext, *operands: Value, jaxpr: ClosedJaxpr, **windows: Any
) -> list[Value]:
    if not is_on("several_windows"):
        general = registry.table(lowering)[lax.reduce_window_p]
        return list(general(ctx, *operands, jaxpr=jaxpr, **windows))
    key = ("windows", tuple(ctx.avals_in), tuple(sorted(windows.items())))
    program = memoise(jaxpr, key, lambda: _staged(jaxpr, ctx.avals_in, windows))
    return ctx.inline(program, operands)


def _staged(
    jaxpr: ClosedJaxpr, avals: Sequence[ShapedArray], windows: dict[str, Any]
) -> ClosedJaxpr:
    count = len(avals) // 2

    def program(*operands: Any) -> list[Any]:
        return combined_windows(jaxpr, operands[:count], operands[count:], **windows)

    return stage(program, avals, "reduce_window")


def combined_windows(
    jaxpr: ClosedJaxpr,
    operands: Sequence[Any],
    inits: Sequence[Any],
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> list[Any]:
    """``reduce_window`` in slices and elementwise operations.

    Args:
        jaxpr: combines two elements of each operand, which are scalars.
        operands: arrays of one shape.
        inits: initial values of the windows.
        window_dimensions: as of ``lax.reduce_window``, like those that follow.
        window_strides: likewise.
        padding: likewise.
        base_dilation: likewise.
        window_dilation: likewise.
    """
    counts = lax.reduce_window_shape_tuple(
        operands[0].shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    if 0 in counts:
        return [full(counts, 0, x.dtype) for x in operands]
    config = [(low, high, gap - 1) for (low, high), gap in zip(padding, base_dilation, strict=True)]
    arrays, operation = [*operands], jaxpr
    if any(low > 0 or high > 0 or gap for low, high, gap in config):
        # Padding is not combined.
        arrays = [pad(x, init, config) for x, init in zip(operands, inits, strict=True)]
        arrays.append(pad(full(operands[0].shape, True), np.bool_(False), config))
        operation = lax.of_those_present(jaxpr)
    elif any(map(any, padding)):
        arrays = [pad(x, init, config) for x, init in zip(operands, inits, strict=True)]
    # The last axis first: elements are combined in their order in memory.
    for axis in reversed(range(len(window_dimensions))):
        arrays = _along(
            operation,
            arrays,
            axis,
            window_dimensions[axis],
            window_strides[axis],
            window_dilation[axis],
        )
    starts = [broadcast_in_dim(init, arrays[0].shape, ()) for init in inits]
    if operation is jaxpr:
        return _combine(jaxpr, starts, arrays)
    starts.append(full(arrays[0].shape, True))
    return _combine(operation, starts, arrays)[:-1]


def _along(
    jaxpr: ClosedJaxpr, arrays: list[Any], axis: int, length: int, stride: int, gap: int
) -> list[Any]:
    """Combine the windows along one axis."""
    size = arrays[0].shape[axis]
    count = window_count(size, dilated(length, gap), stride)
    if length <= _LONGEST_UNROLLED:

        def element(i: int) -> list[Any]:
            end = i * gap + (count - 1) * stride + 1
            return [slice_in_dim(x, i * gap, end, stride, axis) for x in arrays]

        return _fold(jaxpr, [element(i) for i in range(length)])
    # Windows of 1, 2, 4 ... elements at all places; those whose lengths make up the window stand one behind the other.
    parts, start, width = [], 0, 1
    places = size - (length - 1) * gap
    while width <= length:
        if length & width:
            first = start * gap
            parts.append([slice_in_dim(x, first, first + places, 1, axis) for x in arrays])
            start += width
        if 2 * width <= length:
            shift, kept = width * gap, arrays[0].shape[axis]
            arrays = _combine(
                jaxpr,
                [slice_in_dim(x, 0, kept - shift, 1, axis) for x in arrays],
                [slice_in_dim(x, shift, kept, 1, axis) for x in arrays],
            )
        width *= 2
    found = _fold(jaxpr, parts)
    return [slice_in_dim(x, 0, (count - 1) * stride + 1, stride, axis) for x in found]


def _fold(jaxpr: ClosedJaxpr, parts: Sequence[list[Any]]) -> list[Any]:
    found, *rest = parts
    for part in rest:
        found = _combine(jaxpr, found, part)
    return found


def _combine(jaxpr: ClosedJaxpr, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Combine elements in the same places."""
    shape = left[0].shape
    flat = [reshape(x, (x.size,)) for x in (*left, *right)]
    return [reshape(y, shape) for y in vmap(lambda *xs: eval_closed(jaxpr, *xs))(*flat)]
