"""Gather and scatter: windows of an array at computed positions, read and written.

An index vector (the last axis of ``indices``) says where a window of the operand starts; the other axes of ``indices``
enumerate windows. ``gather`` copies windows out, the scatters combine updates into them. ``gather`` and ``scatter_add``
are each other's transposes.

Reference:
    StableHLO specification, ``gather`` and ``scatter``; index_vector_dim is always the last axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    moveaxis,
    zeros,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    jvp_rule,
    physical_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis
from plugjax.lax.arithmetic import add, rem
from plugjax.lax.axes import static_sizes
from plugjax.lax.compound import new_compound
from plugjax.lax.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    batched_numbers,
    check_indices,
    gather_shape,
)
from plugjax.lax.families import convert
from plugjax.lax.joining import concatenate
from plugjax.lax.shape import expand_dims, reshape

rules = RuleSet(__name__)

gather_p = Primitive("gather")
scatter_p = Primitive("scatter")
scatter_add_p = Primitive("scatter-add")
scatter_mul_p = Primitive("scatter-mul")
scatter_min_p = Primitive("scatter-min")
scatter_max_p = Primitive("scatter-max")
scatter_sub_p = new_compound("scatter-sub")

# One object: parameters are keys of caches, and one nan does not equal another.
_NAN = float("nan")


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Windows of ``operand`` at ``start_indices``.

    Shapes:
        operand: ``[...]``.
        start_indices: ``[..., k]``, integer: one entry for each axis in ``start_index_map``.

    Args:
        operand: the array.
        start_indices: where windows start.
        dimension_numbers: which axis means what.
        slice_sizes: shape of a window, with one entry for each axis of ``operand``.
        unique_indices: promise that no element is read twice.
        indices_are_sorted: promise that the index vectors are in order.
        mode: treatment of a window that leaves the operand; ``None`` promises that there is none.
        fill_value: value for ``"fill"``; ``None`` is nan, the lowest integer, or for unsigned the highest.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
        >>> lax.gather(jnp.array([[1, 2], [3, 4]]), jnp.array([[1]]), numbers, (1, 2))
        Array([[3, 4]], dtype=int32)
    """
    parsed = (
        GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    )
    fill: Any = None
    if parsed is GatherScatterMode.FILL_OR_DROP:
        fill = _fill_value(aval_of(operand).dtype) if fill_value is None else fill_value
        if hasattr(fill, "shape"):
            fill = np.asarray(fill).item()
        if fill != fill:
            fill = _NAN
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=static_sizes("gather", slice_sizes),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=parsed,
        fill_value=fill,
    )


def _fill_value(dtype: Any) -> Any:
    if dtypes.is_extended(dtype) or dtype.kind == "b":
        return True
    if dtypes.is_inexact(dtype):
        return _NAN
    small = dtypes.is_integer(dtype) and dtype.kind not in "iu"
    if small:
        bits = int(dtype.name.lstrip("uint"))
        return 2**bits - 1 if dtype in dtypes.UNSIGNED_SMALL else -(2 ** (bits - 1))
    limits = np.iinfo(dtype)
    return int(limits.max if dtype.kind == "u" else limits.min)


def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """``operand`` with windows at ``scatter_indices`` replaced by ``updates``.

    Of several updates of one element, one wins.

    Shapes:
        operand: ``[...]`` -> the same.
        scatter_indices: ``[..., k]``, integer: one entry for each axis in
            ``scatter_dims_to_operand_dims``.
        updates: the other axes of the indices, and those of a window at ``update_window_dims``.

    Args:
        operand: the array.
        scatter_indices: where windows start.
        updates: the windows, of the dtype of ``operand``.
        dimension_numbers: which axis means what.
        indices_are_sorted: promise that the index vectors are in order.
        unique_indices: promise that no element is written twice.
        mode: treatment of a window that leaves the operand; ``None`` is ``"drop"``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter(jnp.zeros(3), jnp.array([[1]]), jnp.array([5.0]), numbers)
        Array([0., 5., 0.], dtype=float32)
    """
    return _bind_scatter(
        scatter_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_add(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """``operand`` with ``updates`` added to windows at ``scatter_indices``. See :func:`scatter`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_add(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([5.0, 2.0]), numbers)
        Array([1., 8., 1.], dtype=float32)
    """
    return _bind_scatter(
        scatter_add_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_mul(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """``operand`` with windows multiplied by ``updates``. See :func:`scatter`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_mul(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([5.0, 2.0]), numbers)
        Array([ 1., 10.,  1.], dtype=float32)
    """
    return _bind_scatter(
        scatter_mul_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_min(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """``operand`` with windows lowered to ``updates`` where those are less. See :func:`scatter`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_min(jnp.ones(3), jnp.array([[1]]), jnp.array([-5.0]), numbers)
        Array([ 1., -5.,  1.], dtype=float32)
    """
    return _bind_scatter(
        scatter_min_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_max(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """``operand`` with windows raised to ``updates`` where those are more. See :func:`scatter`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_max(jnp.ones(3), jnp.array([[1]]), jnp.array([5.0]), numbers)
        Array([1., 5., 1.], dtype=float32)
    """
    return _bind_scatter(
        scatter_max_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_sub(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """``operand`` with ``updates`` subtracted from windows. See :func:`scatter`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_sub(jnp.ones(3), jnp.array([[1]]), jnp.array([5.0]), numbers)
        Array([ 1., -4.,  1.], dtype=float32)
    """
    (found,) = _bind_scatter(
        scatter_sub_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )
    return found


def _bind_scatter(
    primitive: Primitive,
    operand: Any,
    indices: Any,
    updates: Any,
    numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
) -> Any:
    return primitive.bind(
        operand,
        indices,
        updates,
        dimension_numbers=numbers,
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
    )


def index_take(src: ArrayLike, idxs: Sequence[ArrayLike], axes: Sequence[int]) -> Array:
    """Elements of ``src`` at computed indices along some axes, whole along the others.

    Shapes:
        idxs: one ``[n]``, integer, for each of ``axes``; negative ones count from the end, larger ones wrap.
        src: ``[...]`` -> ``[n, other axes...]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.index_take(jnp.arange(6).reshape(2, 3), (jnp.array([0, -1]), jnp.array([2, 0])), (0, 1))
        Array([2, 3], dtype=int32)
    """
    aval = aval_of(src)
    columns = [expand_dims(convert(i, dtypes.INT32), (1,)) for i in idxs]
    sizes = np.array([[aval.shape[d] for d in axes]], np.int32)
    # Twice: the first remainder has the sign of the index.
    indices = rem(add(rem(concatenate(columns, 1), sizes), sizes), sizes)
    others = aval.ndim - len(axes)
    numbers = GatherDimensionNumbers(tuple(range(1, 1 + others)), tuple(axes), tuple(axes))
    windows = [1 if d in axes else size for d, size in enumerate(aval.shape)]
    return gather(src, indices, numbers, windows)


def gather_along_axis(operand: Any, indices: Any, axis: int) -> Any:
    """Elements of ``operand`` at ``indices`` along one axis; the other axes are batch axes.

    Shapes:
        operand: ``[..., n, ...]``.
        indices: ``[..., m, ...]``, in bounds -> ``[..., m, ...]``.
    """
    shape = aval_of(operand).shape
    others = tuple(d for d in range(len(shape)) if d != axis)
    return gather(
        operand,
        reshape(indices, (*aval_of(indices).shape, 1)),
        GatherDimensionNumbers((), (axis,), (axis,), others, others),
        [1 if size else 0 for size in shape],
    )


# gather -------------------------------------------------------------------------------------------


@rules.define(abstract_eval, gather_p)
def _gather_aval(
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    **_: Any,
) -> ShapedArray:
    shape = gather_shape(operand, indices, dimension_numbers, slice_sizes)
    check_indices("gather", indices)
    return operand.update(shape=shape)


@rules.define(jvp_rule, gather_p)
def _gather_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, fill_value: Any, **params: Any
) -> tuple[Any, Any]:
    y = gather_p.bind(*primals, fill_value=fill_value, **params)
    if type(tangents[0]) is Zero:
        return y, Zero(aval_of(y).to_tangent_aval())
    # Filled elements do not depend on the operand.
    fill = 0 if params["mode"] is GatherScatterMode.FILL_OR_DROP else None
    return y, gather_p.bind(tangents[0], primals[1], fill_value=fill, **params)


@rules.define(transpose_rule, gather_p)
def _gather_transpose(
    y_bar: Any,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    fill_value: Any,
    **flags: Any,
) -> tuple[Any, None]:
    return scatter_add_p.bind(
        zeros(operand.aval),
        indices,
        y_bar,
        dimension_numbers=dimension_numbers.as_scatter(),
        **flags,
    ), None


@rules.define(batching_rule, gather_p)
def _gather_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    indices_are_sorted: bool,
    unique_indices: bool,
    **params: Any,
) -> tuple[Any, int]:
    (operand, indices), (operand_dim, indices_dim) = args, dims
    if operand_dim is not None:
        operand = moveaxis(operand, operand_dim, 0)
    if indices_dim is not None:
        indices = moveaxis(indices, indices_dim, 0)
    numbers, sizes = dimension_numbers, slice_sizes
    if operand_dim is None:
        # Every instance reads the same array: order and uniqueness hold within an instance only.
        indices_are_sorted = unique_indices = False
    else:
        sizes = (1 if indices_dim is not None else axis.size, *slice_sizes)
    return gather_p.bind(
        operand,
        indices,
        dimension_numbers=batched_numbers(
            numbers, operand_dim is not None, indices_dim is not None
        ),
        slice_sizes=sizes,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        **params,
    ), 0


@rules.define(physical_rule, gather_p)
def _gather_physical(
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    fill_value: Any,
    **params: Any,
) -> Any:
    stored = aval_of(operand)
    storage = stored.shape[in_avals[0].ndim :]
    rank = out_avals[0].ndim
    fills = params["mode"] is GatherScatterMode.FILL_OR_DROP
    return gather_p.bind(
        operand,
        indices,
        dimension_numbers=replace(
            dimension_numbers,
            offset_dims=(*dimension_numbers.offset_dims, *range(rank, rank + len(storage))),
        ),
        slice_sizes=(*slice_sizes, *storage),
        fill_value=_fill_value(stored.dtype) if fills else None,
        **params,
    )
