"""Primitives that join arrays, cut them apart, and pad them.

``concatenate`` and ``split`` are each other's transposes, and so are ``stack`` and ``unstack``, and ``pad`` and
``slice``. Therefore ``slice_p`` is declared here; its function and rules are in ``slicing.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Zero,
    as_array,
    aval_of,
    broadcast_in_dim_p,
    instantiate,
    reduce_sum_p,
    select_n_p,
)
from plugjax.extend.errors import DtypeError, ShapeError
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    jvp_rule,
    physical_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, is_undefined_primal, materialize
from plugjax.lax.arithmetic import sub
from plugjax.lax.axes import (
    canonical_axis,
    check_axes,
    inserted,
    static_ints,
)
from plugjax.lax.families import check_same_dtypes, scalar

rules = RuleSet(__name__)

concatenate_p = Primitive("concatenate")
split_p = Primitive("split", multiple_results=True)
stack_p = Primitive("stack")
unstack_p = Primitive("unstack", multiple_results=True)
pad_p = Primitive("pad")
slice_p = Primitive("slice")

PaddingConfig = tuple[tuple[int, int, int], ...]


def concatenate(operands: Iterable[ArrayLike], dimension: int) -> Array:
    """Arrays joined along an axis that they have.

    Shapes:
        operands: one dtype and, but for the axis, one shape.

    Args:
        operands: sequence of arrays, or an array whose rows are joined.
        dimension: the axis, counted from the front.

    Raises:
        ValueError: there are no operands.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.concatenate([jnp.array([1]), jnp.array([2])], 0)
        Array([1, 2], dtype=int32)
    """
    arrays = list(operands)
    if not arrays:
        raise ValueError("concatenate needs a non-empty list of arrays.")
    if len(arrays) == 1 and hasattr(arrays[0], "aval"):
        check_axes("concatenate", "dimension", (dimension,), arrays[0].aval)
        return arrays[0]  # type: ignore[return-value]  # it has an aval: an array
    return concatenate_p.bind(*arrays, dimension=int(dimension))


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Parts of given sizes along an axis.

    Shapes:
        operand: ``[..., sum(sizes), ...]`` -> ``[..., size, ...]`` for each size.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.split(jnp.array([1, 2, 3]), (1, 2))
        [Array([1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    position = canonical_axis(axis, aval_of(operand).ndim)
    found: list[Any] = split_p.bind(
        operand, sizes=static_ints("split", "sizes", sizes), axis=position
    )
    return found


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Arrays of one shape and dtype, joined along a new axis.

    Raises:
        IndexError: there is no operand.
        TypeError: dtypes differ.
        ValueError: shapes differ, or there is no such axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    arrays = [as_array(x, "stack") for x in operands]
    place = canonical_axis(axis, arrays[0].aval.ndim + 1)
    return stack_p.bind(*arrays, axis=place)


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The parts of an array along an axis, without that axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)
        (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
    """
    array = as_array(x, "unstack")
    return tuple(unstack_p.bind(array, axis=canonical_axis(axis, array.aval.ndim)))


def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
) -> Array:
    """``operand`` with a scalar before, after and between its elements.

    Args:
        operand: the array.
        padding_value: scalar of the same dtype.
        padding_config: for each axis ``(low, high, interior)``; negative ``low`` and ``high`` cut
            elements off, after the interior has been filled.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.pad(jnp.array([1, 2]), 0, [(1, 0, 1)])
        Array([0, 1, 0, 2], dtype=int32)
    """
    config = tuple(static_ints("pad", "padding_config", entry) for entry in padding_config)
    return pad_p.bind(operand, padding_value, padding_config=config)


# concatenate --------------------------------------------------------------------------------------


@rules.define(abstract_eval, concatenate_p)
def _concatenate_aval(*operands: ShapedArray, dimension: int) -> ShapedArray:
    first = operands[0]
    described = ", ".join(a.str_short() for a in operands)
    if any(a.ndim != first.ndim for a in operands):
        raise ShapeError(
            f"Cannot concatenate arrays with different numbers of dimensions: {described}."
        )
    if not 0 <= dimension < first.ndim:
        raise ShapeError(f"concatenate: dimension {dimension} is out of bounds for {described}.")
    check_same_dtypes("concatenate", operands)

    def others(aval: ShapedArray) -> tuple[int, ...]:
        return aval.shape[:dimension] + aval.shape[dimension + 1 :]

    if any(others(a) != others(first) for a in operands):
        raise ShapeError(
            f"concatenate: only sizes along dimension {dimension} may differ, got {described}."
        )
    size = sum(a.shape[dimension] for a in operands)
    shape = (*first.shape[:dimension], size, *first.shape[dimension + 1 :])
    return ShapedArray(shape, first.dtype, all(a.weak_type for a in operands))


@rules.define(jvp_rule, concatenate_p)
def _concatenate_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int
) -> tuple[Any, Any]:
    y = concatenate_p.bind(*primals, dimension=dimension)
    if all(type(t) is Zero for t in tangents):
        return y, Zero(aval_of(y).to_tangent_aval())
    return y, concatenate_p.bind(*[instantiate(t) for t in tangents], dimension=dimension)


@rules.define(transpose_rule, concatenate_p)
def _concatenate_transpose(y_bar: Any, *operands: Any, dimension: int) -> list[Any]:
    sizes = tuple(aval_of(x).shape[dimension] for x in operands)
    parts = split_p.bind(y_bar, sizes=sizes, axis=dimension)
    return [
        part if is_undefined_primal(x) else None for x, part in zip(operands, parts, strict=True)
    ]


@rules.define(batching_rule, concatenate_p)
def _concatenate_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, dimension: int
) -> tuple[Any, int]:
    bdim = next(d for d in dims if d is not None)
    moved = [materialize(x, d, axis, bdim) for x, d in zip(args, dims, strict=True)]
    return concatenate_p.bind(*moved, dimension=dimension + (dimension >= bdim)), bdim


@rules.define(physical_rule, concatenate_p)
def _concatenate_physical(in_avals: Any, out_avals: Any, *stored: Any, dimension: int) -> Any:
    return concatenate_p.bind(*stored, dimension=dimension)


# split --------------------------------------------------------------------------------------------


@rules.define(abstract_eval, split_p)
def _split_avals(x: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    check_axes("split", "axis", (axis,), x)
    if any(size < 0 for size in sizes):
        raise ValueError(f"split: sizes of axes must not be negative, got {sizes}.")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(
            f"split: the sizes add up to {sum(sizes)}, which is not the size of axis {axis} of {x.str_short()}."
        )
    return [x.update(shape=(*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes]


@rules.define(jvp_rule, split_p)
def _split_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, sizes: tuple[int, ...], axis: int
) -> tuple[Any, Any]:
    parts = split_p.bind(*primals, sizes=sizes, axis=axis)
    if type(tangents[0]) is Zero:
        return parts, [Zero(aval_of(y).to_tangent_aval()) for y in parts]
    return parts, split_p.bind(*tangents, sizes=sizes, axis=axis)


@rules.define(transpose_rule, split_p)
def _split_transpose(
    bars: Sequence[Any], x: Any, *, sizes: tuple[int, ...], axis: int
) -> tuple[Any]:
    return (concatenate([instantiate(bar) for bar in bars], axis),)


@rules.define(batching_rule, split_p)
def _split_batching(
    batch: Axis, args: Sequence[Any], dims: Sequence[int], *, sizes: tuple[int, ...], axis: int
) -> tuple[list[Any], list[int]]:
    (bdim,) = dims
    parts = split_p.bind(*args, sizes=sizes, axis=axis + (axis >= bdim))
    return parts, [bdim] * len(parts)


@rules.define(physical_rule, split_p)
def _split_physical(
    in_avals: Any, out_avals: Any, stored: Any, *, sizes: tuple[int, ...], axis: int
) -> Any:
    return split_p.bind(stored, sizes=sizes, axis=axis)


# stack and unstack --------------------------------------------------------------------------------


@rules.define(abstract_eval, stack_p)
def _stack_aval(*operands: ShapedArray, axis: int) -> ShapedArray:
    first = operands[0]
    if any(a.shape != first.shape for a in operands):
        described = ", ".join(a.str_short() for a in operands)
        raise ValueError(f"stack needs arrays of one shape, got {described}.")
    check_same_dtypes("stack", operands)
    weak = all(a.weak_type for a in operands)
    return ShapedArray(inserted(first.shape, axis, len(operands)), first.dtype, weak)


@rules.define(abstract_eval, unstack_p)
def _unstack_avals(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    check_axes("unstack", "axis", (axis,), x)
    return [x.update(shape=x.shape[:axis] + x.shape[axis + 1 :])] * x.shape[axis]


@rules.define(jvp_rule, stack_p)
def _stack_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int) -> tuple[Any, Any]:
    y = stack_p.bind(*primals, axis=axis)
    if all(type(t) is Zero for t in tangents):
        return y, Zero(aval_of(y).to_tangent_aval())
    return y, stack_p.bind(*[instantiate(t) for t in tangents], axis=axis)


@rules.define(transpose_rule, stack_p)
def _stack_transpose(y_bar: Any, *operands: Any, axis: int) -> list[Any]:
    return [
        part if is_undefined_primal(x) else None
        for x, part in zip(operands, unstack_p.bind(y_bar, axis=axis), strict=True)
    ]


@rules.define(batching_rule, stack_p)
def _stack_batching(
    batch: Axis, args: Sequence[Any], dims: Sequence[int | None], *, axis: int
) -> tuple[Any, int]:
    bdim = next(d for d in dims if d is not None)
    moved = [materialize(x, d, batch, bdim) for x, d in zip(args, dims, strict=True)]
    if axis <= bdim:
        return stack_p.bind(*moved, axis=axis), bdim + 1
    return stack_p.bind(*moved, axis=axis + 1), bdim


@rules.define(jvp_rule, unstack_p)
def _unstack_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int) -> tuple[Any, Any]:
    parts = unstack_p.bind(*primals, axis=axis)
    if type(tangents[0]) is Zero:
        return parts, [Zero(aval_of(y).to_tangent_aval()) for y in parts]
    return parts, unstack_p.bind(*tangents, axis=axis)


@rules.define(transpose_rule, unstack_p)
def _unstack_transpose(bars: Sequence[Any], x: Any, *, axis: int) -> tuple[Any]:
    return (stack_p.bind(*map(instantiate, bars), axis=axis),)


@rules.define(batching_rule, unstack_p)
def _unstack_batching(
    batch: Axis, args: Sequence[Any], dims: Sequence[int], *, axis: int
) -> tuple[list[Any], list[int]]:
    (bdim,) = dims
    parts = unstack_p.bind(*args, axis=axis + (axis >= bdim))
    return parts, [bdim - (axis < bdim)] * len(parts)


@rules.define(physical_rule, stack_p)
def _stack_physical(in_avals: Any, out_avals: Any, *stored: Any, axis: int) -> Any:
    return stack_p.bind(*stored, axis=axis)


@rules.define(physical_rule, unstack_p)
def _unstack_physical(in_avals: Any, out_avals: Any, stored: Any, *, axis: int) -> Any:
    return unstack_p.bind(stored, axis=axis)


# pad ----------------------------------------------------------------------------------------------


@rules.define(abstract_eval, pad_p)
def _pad_aval(x: ShapedArray, value: ShapedArray, *, padding_config: PaddingConfig) -> ShapedArray:
    if value.shape:
        raise ShapeError(f"pad needs a scalar as padding_value, got {value.str_short()}.")
    if len(padding_config) != x.ndim:
        raise ValueError(
            f"pad: the length of padding_config {padding_config} is not the rank of operand {x.str_short()}."
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(
            f"pad needs nonnegative interior padding, got padding_config {padding_config}."
        )
    shape = tuple(
        low + high + size + max(size - 1, 0) * interior
        for size, (low, high, interior) in zip(x.shape, padding_config, strict=True)
    )
    if any(size < 0 for size in shape):
        raise ValueError(
            f"pad: sizes of the result must be at least 0, got {shape} from padding_config {padding_config} and "
            f"operand {x.str_short()}."
        )
    if x.dtype != value.dtype:
        raise DtypeError(
            f"pad needs operand and padding_value of the same dtype, got {x.dtype.name} and {value.dtype.name}."
        )
    return ShapedArray(shape, x.dtype, x.weak_type and value.weak_type)


@rules.define(jvp_rule, pad_p)
def _pad_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, padding_config: PaddingConfig
) -> tuple[Any, Any]:
    y = pad_p.bind(*primals, padding_config=padding_config)
    if all(type(t) is Zero for t in tangents):
        return y, Zero(aval_of(y).to_tangent_aval())
    return y, pad_p.bind(*[instantiate(t) for t in tangents], padding_config=padding_config)


@rules.define(transpose_rule, pad_p)
def _pad_transpose(
    y_bar: Any, x: Any, value: Any, *, padding_config: PaddingConfig
) -> tuple[Any, Any]:
    x_bar = _unpad(y_bar, aval_of(x).shape, padding_config)
    if not is_undefined_primal(value):
        return x_bar, None
    # The padding value was written outside the operand's elements.
    value_bar = sub(_total(y_bar), _total(x_bar))
    return (x_bar if is_undefined_primal(x) else None), value_bar


def _total(x: Any) -> Any:
    return reduce_sum_p.bind(x, axes=tuple(range(aval_of(x).ndim)))


def _unpad(y: Any, shape: tuple[int, ...], padding_config: PaddingConfig) -> Any:
    """The elements of ``y`` at the positions of the operand's elements; 0 for those that padding cut off."""
    edges = tuple((-low, -high, 0) for low, high, _ in padding_config)
    if any(low or high for low, high, _ in edges):
        y = pad_p.bind(y, scalar(0, y), padding_config=edges)
    if all(interior == 0 for _, _, interior in padding_config):
        return y
    return slice_p.bind(
        y,
        start_indices=(0,) * len(shape),
        limit_indices=aval_of(y).shape,
        strides=tuple(interior + 1 for _, _, interior in padding_config),
    )


@rules.define(batching_rule, pad_p)
def _pad_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    padding_config: PaddingConfig,
) -> tuple[Any, int]:
    (x, value), (x_dim, value_dim) = args, dims
    if value_dim is None:
        assert x_dim is not None
        return pad_p.bind(
            x, value, padding_config=inserted(padding_config, x_dim, (0, 0, 0))
        ), x_dim
    # One value for each instance: padding a mask gives the positions.
    x = materialize(x, x_dim, axis)
    config = ((0, 0, 0), *padding_config)
    padded = pad_p.bind(x, scalar(0, x), padding_config=config)
    inside = broadcast_in_dim_p.bind(np.True_, shape=aval_of(x).shape, broadcast_dimensions=())
    mask = pad_p.bind(inside, np.False_, padding_config=config)
    values = broadcast_in_dim_p.bind(value, shape=aval_of(padded).shape, broadcast_dimensions=(0,))
    return select_n_p.bind(mask, values, padded), 0
