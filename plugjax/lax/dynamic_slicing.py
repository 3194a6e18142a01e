"""Rules of ``dynamic_slice`` and ``dynamic_update_slice``, which ``slicing.py`` declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import ShapedArray, Zero, aval_of, instantiate, moveaxis, zeros
from plugjax.extend.errors import ShapeError, SizeError
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    jvp_rule,
    physical_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, is_undefined_primal, materialize
from plugjax.lax.axes import inserted
from plugjax.lax.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from plugjax.lax.families import check_same_dtypes, linear, scalar
from plugjax.lax.gather_scatter import gather_p, scatter_p
from plugjax.lax.shape import concatenate, reshape
from plugjax.lax.slicing import dynamic_slice_p, dynamic_update_slice_p

rules = RuleSet(__name__)


def _check_starts(who: str, x: ShapedArray, starts: Sequence[ShapedArray]) -> None:
    if len(starts) != x.ndim or any(start.shape for start in starts):
        raise ShapeError(
            f"{who} needs one scalar start for each axis of {x.str_short()}, got "
            f"{', '.join(start.str_short() for start in starts)}."
        )
    kinds = {start.dtype for start in starts}
    if len(kinds) > 1 or any(not dtypes.is_integer(dtype) for dtype in kinds):
        names = ", ".join(start.dtype.name for start in starts)
        raise TypeError(f"{who} needs integers of one dtype as indices, got {names}.")


@rules.define(abstract_eval, dynamic_slice_p)
def _dynamic_slice_aval(
    x: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]
) -> ShapedArray:
    _check_starts("dynamic_slice", x, starts)
    if len(slice_sizes) != x.ndim or any(
        not 0 <= size <= bound for size, bound in zip(slice_sizes, x.shape, strict=True)
    ):
        raise SizeError(
            f"dynamic_slice: slice slice_sizes must be less than those of the operand or equal, got {slice_sizes} for {x.str_short()}."
        )
    return x.update(shape=slice_sizes)


@linear(rules, dynamic_slice_p)
def _dynamic_slice_transpose(
    y_bar: Any, x: Any, *starts: Any, slice_sizes: tuple[int, ...]
) -> list[Any]:
    return [
        dynamic_update_slice_p.bind(zeros(x.aval), y_bar, *starts),
        *(None for _ in starts),
    ]


def _zero_start(starts: Sequence[Any]) -> Any:
    return scalar(0, starts[0]) if starts else np.int32(0)


def _index_vectors(axis: Axis, starts: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """Starts of all instances, ``[axis.size, rank]``."""
    columns = [
        reshape(materialize(start, d, axis), (axis.size, 1))
        for start, d in zip(starts, dims, strict=True)
    ]
    return concatenate(columns, 1)


@rules.define(batching_rule, dynamic_slice_p)
def _dynamic_slice_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    slice_sizes: tuple[int, ...],
) -> tuple[Any, int]:
    (x, *starts), (x_dim, *start_dims) = args, dims
    if all(d is None for d in start_dims):
        assert x_dim is not None
        return dynamic_slice_p.bind(
            x,
            *inserted(starts, x_dim, _zero_start(starts)),
            slice_sizes=inserted(slice_sizes, x_dim, axis.size),
        ), x_dim
    # Each instance has another start: a gather of windows.
    rank = len(slice_sizes)
    shift = 0 if x_dim is None else 1
    batching = (0,) * shift
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, rank + 1)),
        collapsed_slice_dims=(),
        start_index_map=tuple(range(shift, rank + shift)),
        operand_batching_dims=batching,
        start_indices_batching_dims=batching,
    )
    return gather_p.bind(
        x if x_dim is None else moveaxis(x, x_dim, 0),
        _index_vectors(axis, starts, start_dims),
        dimension_numbers=numbers,
        slice_sizes=(*(1,) * shift, *slice_sizes),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    ), 0


@rules.define(physical_rule, dynamic_slice_p)
def _dynamic_slice_physical(
    in_avals: Sequence[ShapedArray],
    out_avals: Any,
    x: Any,
    *starts: Any,
    slice_sizes: tuple[int, ...],
) -> Any:
    storage = aval_of(x).shape[len(slice_sizes) :]
    zero = _zero_start(starts)
    return dynamic_slice_p.bind(
        x, *starts, *(zero for _ in storage), slice_sizes=(*slice_sizes, *storage)
    )


# dynamic_update_slice -----------------------------------------------------------------------------


@rules.define(abstract_eval, dynamic_update_slice_p)
def _dynamic_update_slice_aval(
    x: ShapedArray, update: ShapedArray, *starts: ShapedArray
) -> ShapedArray:
    check_same_dtypes("dynamic_update_slice", (x, update))
    if x.ndim != update.ndim:
        raise ShapeError(
            f"dynamic_update_slice: update {update.str_short()} and operand {x.str_short()} differ in rank."
        )
    if any(size > bound for size, bound in zip(update.shape, x.shape, strict=True)):
        raise ShapeError(
            f"dynamic_update_slice needs an update smaller than the operand or as large, got {update.str_short()} "
            f"for {x.str_short()}."
        )
    _check_starts("dynamic_update_slice", x, starts)
    weak = x.weak_type and update.weak_type and not starts
    return x if weak == x.weak_type else x.strip_weak_type()


@rules.define(jvp_rule, dynamic_update_slice_p)
def _dynamic_update_slice_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    y = dynamic_update_slice_p.bind(*primals)
    x_dot, update_dot, *_ = tangents
    if type(x_dot) is Zero and type(update_dot) is Zero:
        return y, Zero(aval_of(y).to_tangent_aval())
    return y, dynamic_update_slice_p.bind(instantiate(x_dot), instantiate(update_dot), *primals[2:])


@rules.define(transpose_rule, dynamic_update_slice_p)
def _dynamic_update_slice_transpose(y_bar: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
    update_aval = aval_of(update)
    x_bar = update_bar = None
    if is_undefined_primal(x):
        x_bar = dynamic_update_slice_p.bind(y_bar, zeros(update_aval), *starts)
    if is_undefined_primal(update):
        update_bar = dynamic_slice_p.bind(y_bar, *starts, slice_sizes=update_aval.shape)
    return [x_bar, update_bar, *(None for _ in starts)]


@rules.define(batching_rule, dynamic_update_slice_p)
def _dynamic_update_slice_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Any, int]:
    (x, update, *starts), (x_dim, update_dim, *start_dims) = args, dims
    x = materialize(x, x_dim, axis)
    update = materialize(update, update_dim, axis)
    if all(d is None for d in start_dims):
        return dynamic_update_slice_p.bind(x, update, _zero_start(starts), *starts), 0
    rank = len(starts)
    numbers = ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, rank + 1)),
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=tuple(range(1, rank + 1)),
        operand_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
    )
    return scatter_p.bind(
        x,
        _index_vectors(axis, starts, start_dims),
        update,
        dimension_numbers=numbers,
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    ), 0


@rules.define(physical_rule, dynamic_update_slice_p)
def _dynamic_update_slice_physical(
    in_avals: Sequence[ShapedArray], out_avals: Any, x: Any, update: Any, *starts: Any
) -> Any:
    trailing = aval_of(x).ndim - in_avals[0].ndim
    return dynamic_update_slice_p.bind(x, update, *starts, *[_zero_start(starts)] * trailing)
