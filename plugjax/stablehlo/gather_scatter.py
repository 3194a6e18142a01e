"""Lowerings of gather and scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import BOOL, INT32, INT64
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax import gather_scatter as lax
from plugjax.lax.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    scatter_slice_sizes,
)
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.mlir import Attribute, Value
from plugjax.stablehlo.reducers import AND, MAXIMUM, MINIMUM, PRODUCT, SUM, Reducer
from plugjax.stablehlo.reduction import reduce

rules = RuleSet(__name__)


@rules.define(lowering, lax.gather_p)
def gather(
    ctx: EqnContext,
    operand: Value,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
    **_: Any,
) -> Value:
    """Windows of an array, as ``lax.gather``."""
    operand_aval, indices_aval = ctx.avals_in
    (out,) = ctx.avals_out
    if 0 in out.shape:
        return ctx.constant(0, out)
    attributes = {
        "dimension_numbers": _gather_numbers(dimension_numbers, indices_aval.ndim - 1),
        "slice_sizes": mlir.i64s(slice_sizes),
        "indices_are_sorted": mlir.boolean(indices_are_sorted),
    }
    if 0 in operand_aval.shape:
        # Empty axis: every window leaves the operand, so nothing is read.
        return ctx.constant(0 if fill_value is None else fill_value, out)
    windows = mlir.value("stablehlo.gather", out, [operand, indices], attributes)
    if mode is not GatherScatterMode.FILL_OR_DROP:
        # StableHLO moves a window that leaves the operand back inside, which is CLIP.
        return windows
    return fill_outside(
        ctx, windows, indices, dimension_numbers=dimension_numbers, slice_sizes=slice_sizes,
        fill_value=fill_value,
    )  # fmt: skip


def fill_outside(
    ctx: EqnContext,
    windows: Value,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    fill_value: Any,
) -> Value:
    """The result of a gather, with ``fill_value`` for windows that do not lie within the operand."""
    operand_aval, indices_aval = ctx.avals_in
    (out,) = ctx.avals_out
    inside = windows_inside(operand_aval, indices, indices_aval, dimension_numbers, slice_sizes)
    batch_dims = [d for d in range(out.ndim) if d not in dimension_numbers.offset_dims]
    mask = mlir.op(
        "stablehlo.broadcast_in_dim",
        [mlir.tensor(out.shape, BOOL)],
        [inside],
        {"broadcast_dimensions": mlir.i64s(batch_dims)},
    ).result
    return mlir.value("stablehlo.select", out, [mask, windows, ctx.constant(fill_value, out)])


def windows_inside(
    operand: ShapedArray,
    indices: Value,
    indices_aval: ShapedArray,
    numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
) -> Value:
    """For each index vector, whether its window lies within the operand."""
    # An unsigned index beyond the signed range becomes negative, hence outside.
    dtype = INT64 if indices_aval.dtype.itemsize == 8 else INT32
    signed = ShapedArray(indices_aval.shape, dtype)
    indices = convert(indices, indices_aval, dtype)
    last = [operand.shape[d] - slice_sizes[d] for d in numbers.start_index_map]
    lowest = mlir.constant(dtype.type(0), signed.shape)
    not_below = compare("GE", signed, indices, lowest)
    not_above = compare("LE", signed, indices, along_last_axis(last, signed))
    mask_aval = ShapedArray(signed.shape, BOOL)
    mask = mlir.value("stablehlo.and", mask_aval, [not_below, not_above])
    return reduce(AND, mask, mask_aval, (signed.ndim - 1,))


def along_last_axis(numbers: Sequence[int], aval: ShapedArray) -> Value:
    """One number per position of the last axis, repeated along the others."""
    if mlir.has_symbols(numbers):
        row = mlir.sizes(numbers, aval.dtype)
        dims = {"broadcast_dimensions": mlir.i64s([aval.ndim - 1])}
        return mlir.value("stablehlo.broadcast_in_dim", aval, [row], dims)
    limits = np.iinfo(aval.dtype)
    row = mlir.constant(
        np.clip(np.asarray(numbers, np.int64), 0, int(limits.max)).astype(aval.dtype)
    )
    dims = {"broadcast_dimensions": mlir.i64s([aval.ndim - 1])}
    return mlir.value("stablehlo.broadcast_in_dim", aval, [row], dims)


def _gather_numbers(numbers: GatherDimensionNumbers, index_vector_dim: int) -> Attribute:
    return mlir.attribute(
        f"#stablehlo.gather<offset_dims = {list(numbers.offset_dims)}, "
        f"collapsed_slice_dims = {list(numbers.collapsed_slice_dims)}, "
        f"operand_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"start_indices_batching_dims = {list(numbers.start_indices_batching_dims)}, "
        f"start_index_map = {list(numbers.start_index_map)}, index_vector_dim = {index_vector_dim}>"
    )


def _scatter_numbers(numbers: ScatterDimensionNumbers, index_vector_dim: int) -> Attribute:
    return mlir.attribute(
        f"#stablehlo.scatter<update_window_dims = {list(numbers.update_window_dims)}, "
        f"inserted_window_dims = {list(numbers.inserted_window_dims)}, "
        f"input_batching_dims = {list(numbers.operand_batching_dims)}, "
        f"scatter_indices_batching_dims = {list(numbers.scatter_indices_batching_dims)}, "
        f"scatter_dims_to_operand_dims = {list(numbers.scatter_dims_to_operand_dims)}, "
        f"index_vector_dim = {index_vector_dim}>"
    )


def _scatter(reducer: Reducer | None) -> Callable[..., Value]:
    """The lowering that combines old and new elements by ``reducer``; ``None`` keeps the new."""

    def rule(
        ctx: EqnContext,
        operand: Value,
        indices: Value,
        updates: Value,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
        **_: Any,
    ) -> Value:
        operand_aval, indices_aval, updates_aval = ctx.avals_in
        if 0 in updates_aval.shape or 0 in operand_aval.shape:
            return operand
        if mode is GatherScatterMode.CLIP:
            sizes = scatter_slice_sizes(operand_aval, updates_aval, dimension_numbers)
            axes = dimension_numbers.scatter_dims_to_operand_dims
            last = along_last_axis([operand_aval.shape[d] - sizes[d] for d in axes], indices_aval)
            zero = ctx.constant(0, indices_aval)
            indices = mlir.value("stablehlo.clamp", indices_aval, [zero, indices, last])
        attributes = {
            "scatter_dimension_numbers": _scatter_numbers(dimension_numbers, indices_aval.ndim - 1),
            "indices_are_sorted": mlir.boolean(indices_are_sorted),
            "unique_indices": mlir.boolean(unique_indices),
        }
        types = [mlir.type_of(operand_aval)]
        scatter = mlir.op("stablehlo.scatter", types, [operand, indices, updates], attributes, 1)
        dtype = operand_aval.dtype
        combine = reducer.body(dtype) if reducer else lambda old, new: [new]
        mlir.fill_region(scatter.regions[0], [mlir.tensor((), dtype)] * 2, combine)
        return scatter.result

    return rule


for _p, _reducer in (
    (lax.scatter_p, None),
    (lax.scatter_add_p, SUM),
    (lax.scatter_mul_p, PRODUCT),
    (lax.scatter_min_p, MINIMUM),
    (lax.scatter_max_p, MAXIMUM),
):
    rules.define(lowering, _p)(_scatter(_reducer))
