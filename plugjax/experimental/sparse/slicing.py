"""Parts of BCOO arrays: slices, reversal, squeezing, joining and gathering."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax, numpy as jnp, vmap
from plugjax.experimental.sparse import primitives
from plugjax.experimental.sparse.base import Shape
from plugjax.experimental.sparse.bcoo import BCOO
from plugjax.experimental.sparse.functions import bcoo_transpose, without_padding
from plugjax.experimental.sparse.layout import SparseInfo, bcoo_properties, split_shape
from plugjax.experimental.sparse.places import bounds, columns
from plugjax.experimental.sparse.reshaping import bcoo_reshape, bcoo_update_layout, with_nse
from plugjax.extend.core import ShapedArray, aval_of
from plugjax.extend.transforms import stage


def out_aval(function: Any, name: str, *avals: ShapedArray) -> ShapedArray:
    """The aval of a function of dense arrays, which says what is wrong with them."""
    return stage(lambda *xs: [function(*xs)], list(avals), name).out_avals[0]


def _cut_down(data: Any, indices: Any, shape: Shape, inner: Sequence[int]) -> BCOO:
    """An array with at most as many rows as its sparse axes have elements."""
    room = math.prod(inner)
    if aval_of(indices).shape[-2] > room:
        data, indices = primitives.bcoo_sum_duplicates_p.bind(
            data, indices, spinfo=SparseInfo(shape), nse=room
        )
    return BCOO((data, indices), shape=shape)


def _kept(data: Any, keep: Any) -> Any:
    """Data with 0 where ``keep`` is false."""
    keep = lax.expand_dims(keep, tuple(range(keep.ndim, aval_of(data).ndim)))
    return jnp.where(keep, data, jnp.zeros((), aval_of(data).dtype))


def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """``lax.slice`` of a BCOO array.

    Args:
        mat: the array.
        start_indices: where slices start, one entry for each axis.
        limit_indices: where they end.
        strides: their steps, 1 by default.

    Returns:
        An array with as many stored elements, or as its sparse axes have room for if these are fewer.

    Raises:
        TypeError: ``mat`` is no BCOO array.
        ValueError: slices leave the array.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.arange(4.0))
        >>> sparse.bcoo_slice(M, start_indices=[2], limit_indices=[4]).todense()
        Array([2., 3.], dtype=float32)
    """
    if not isinstance(mat, BCOO):
        raise TypeError(f"bcoo_slice: input should be BCOO array, got {type(mat)}.")
    starts = tuple(operator.index(i) for i in start_indices)
    limits = tuple(operator.index(i) for i in limit_indices)
    steps = (1,) * mat.ndim if strides is None else tuple(operator.index(i) for i in strides)
    if not len(starts) == len(limits) == len(steps) == mat.ndim:
        raise ValueError(
            f"bcoo_slice: indices must have size mat.ndim={mat.ndim}; got {starts}, {limits} and {steps}."
        )
    if any(s <= 0 for s in steps):
        raise ValueError(
            f"bcoo_slice: strides must be a sequence of positive integers; got {steps}."
        )
    if any(not 0 <= a <= b <= s for a, b, s in zip(starts, limits, mat.shape, strict=True)):
        raise ValueError(
            f"bcoo_slice: invalid indices: {start_indices=}, {limit_indices=} for shape {mat.shape}."
        )
    props = bcoo_properties(*mat._bufs, mat.shape)
    shape = tuple((b - a + s - 1) // s for a, b, s in zip(starts, limits, steps, strict=True))
    cuts = [slice(a, b, s) for a, b, s in zip(starts, limits, steps, strict=True)]
    batch, _, dense = split_shape(cuts, props)

    def of_batch(x: Any) -> tuple[slice, ...]:
        return tuple(
            cut if x.shape[d] == mat.shape[d] else slice(None) for d, cut in enumerate(batch)
        )

    data, indices = mat._bufs
    data = data[(*of_batch(data), slice(None), *dense)]
    indices = indices[of_batch(indices)] if batch else indices
    _, inner, _ = split_shape(shape, props)
    if props.n_sparse:
        a, b, s = (bounds(split_shape(v, props)[1], indices) for v in (starts, limits, steps))
        keep = ((indices >= a) & (indices < b) & ((indices - a) % s == 0)).all(-1)
        data = _kept(data, keep)
        indices = jnp.where(keep[..., None], (indices - a) // s, bounds(inner, indices))
        return _cut_down(data, indices, shape, inner)
    return BCOO((data, indices), shape=shape)


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """``lax.dynamic_slice`` of a BCOO array.

    Args:
        mat: the array.
        start_indices: where slices start, integer scalars; they may be traced, and are moved so that slices lie within the
            array.
        slice_sizes: sizes of the slices.

    Raises:
        TypeError: ``mat`` is no BCOO array, or sizes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.arange(4.0))
        >>> sparse.bcoo_dynamic_slice(M, [1], [2]).todense()
        Array([1., 2.], dtype=float32)
    """
    if not isinstance(mat, BCOO):
        raise TypeError(f"bcoo_dynamic_slice: input should be BCOO array, got {type(mat)}.")
    sizes = tuple(operator.index(i) for i in slice_sizes)
    starts = tuple(jnp.asarray(i) for i in start_indices)
    avals = [ShapedArray(mat.shape, mat.dtype), *map(aval_of, starts)]
    out_aval(lambda x, *at: lax.dynamic_slice(x, at, sizes), "dynamic_slice", *avals)
    props = bcoo_properties(*mat._bufs, mat.shape)
    batch_at, inner_at, dense_at = split_shape(starts, props)
    batch_sizes, inner, dense_sizes = split_shape(sizes, props)
    kind = starts[0].dtype if starts else np.dtype(np.int32)
    zero = jnp.zeros((), kind)

    def of_batch(x: Any) -> tuple[list[Any], list[int]]:
        whole = [x.shape[d] == mat.shape[d] for d in range(props.n_batch)]
        at = [i if w else zero for i, w in zip(batch_at, whole, strict=True)]
        return at, [s if w else 1 for s, w in zip(batch_sizes, whole, strict=True)]

    data, indices = mat._bufs
    at, found = of_batch(data)
    data = lax.dynamic_slice(data, (*at, zero, *dense_at), (*found, mat.nse, *dense_sizes))
    at, found = of_batch(indices)
    indices = lax.dynamic_slice(indices, (*at, zero, zero), (*found, mat.nse, props.n_sparse))
    if not props.n_sparse:
        return BCOO((data, indices), shape=sizes)
    whole = bounds(split_shape(mat.shape, props)[1], indices)
    extent = bounds(inner, indices)
    first = jnp.stack([i.astype(indices.dtype) for i in inner_at])
    first = jnp.clip(jnp.where(first < 0, first + whole, first), 0, whole - extent)
    keep = ((indices >= first) & (indices < first + extent)).all(-1)
    indices = jnp.where(keep[..., None], indices - first, extent)
    return _cut_down(_kept(data, keep), indices, sizes, inner)


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """``lax.rev`` of a BCOO array.

    Args:
        operand: the array.
        dimensions: axes along which the order of elements is reversed.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.bcoo_rev(sparse.BCOO.fromdense(jnp.arange(4.0)), (0,)).todense()
        Array([3., 2., 1., 0.], dtype=float32)
    """
    axes = tuple(dimensions)
    out_aval(lambda x: lax.rev(x, axes), "rev", ShapedArray(operand.shape, operand.dtype))
    data, indices = operand._bufs
    props = bcoo_properties(data, indices, operand.shape)
    stop = props.n_batch + props.n_sparse
    batch = tuple(d for d in axes if d < props.n_batch)
    dense = tuple(d - props.n_sparse + 1 for d in axes if d >= stop)
    inner = operand.shape[props.n_batch : stop]
    turned = [props.n_batch + c in axes for c in range(props.n_sparse)]
    if batch:
        indices = lax.rev(indices, batch)
    if batch or dense:
        data = lax.rev(data, (*batch, *dense))
    if any(turned):
        sizes = bounds(inner, indices)
        back = jnp.where(np.asarray(turned), sizes - 1 - indices, indices)
        # Padding, which would come before the start, stays padding.
        indices = jnp.where(back < 0, sizes, back)
    return BCOO((data, indices), shape=operand.shape)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """``lax.squeeze`` of a BCOO array.

    Args:
        arr: the array.
        dimensions: axes of size 1 to drop.

    Raises:
        ValueError: an axis has another size.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.bcoo_squeeze(sparse.BCOO.fromdense(jnp.array([[0.0, 3.0]])), dimensions=(0,))
        BCOO(float32[2], nse=1)
    """
    axes = {_canonical(d, arr.ndim) for d in dimensions}
    if any(arr.shape[d] != 1 for d in axes):
        raise ValueError(
            "bcoo_squeeze: cannot select an axis to squeeze out which has size not equal to one; got "
            f"{sorted(axes)} of shape {arr.shape}."
        )
    n, stop = arr.n_batch, arr.n_batch + arr.n_sparse
    batch = tuple(d for d in sorted(axes) if d < n)
    dense = tuple(d - arr.n_sparse + 1 for d in sorted(axes) if d >= stop)
    kept = [c for c in range(arr.n_sparse) if c + n not in axes]
    # A row that is padding by a dropped index alone would count.
    data = without_padding(arr) if len(kept) < arr.n_sparse else arr.data
    indices = arr.indices
    return BCOO(
        (
            lax.squeeze(data, (*batch, *dense)) if batch or dense else data,
            lax.squeeze(columns(indices, kept), batch) if batch else columns(indices, kept),
        ),
        shape=tuple(s for d, s in enumerate(arr.shape) if d not in axes),
        indices_sorted=arr.indices_sorted,
        unique_indices=arr.unique_indices,
    )


def _canonical(axis: Any, ndim: int) -> int:
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for an array of dimension {ndim}.")
    return axis % ndim


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """``lax.concatenate`` of BCOO arrays.

    Args:
        operands: arrays with equal numbers of batch, sparse and dense axes.
        dimension: the axis, not a dense one.

    Raises:
        ValueError: an operand is no BCOO array, or layouts differ.
        NotImplementedError: the axis is dense, or batch axes are shared in one operand only.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 2.0]))
        >>> sparse.bcoo_concatenate([M, M], dimension=0).todense()
        Array([0., 2., 0., 2.], dtype=float32)
    """
    axis = operator.index(dimension)
    operands = list(operands)
    if not all(isinstance(op, BCOO) for op in operands):
        raise ValueError(
            f"bcoo_concatenate: expected operands to be a sequence of BCOO arrays, got {operands}."
        )
    shape = out_aval(
        lambda *xs: lax.concatenate(xs, axis),
        "concatenate",
        *(ShapedArray(op.shape, op.dtype) for op in operands),
    ).shape
    if len({op.n_dense for op in operands}) > 1:
        raise ValueError(
            f"bcoo_concatenate requires inputs to have matching dense dimensions; got {operands}."
        )
    n_batches = {op.n_batch for op in operands}
    if n_batches == {0, 1}:
        for from_, to in ((0, 1), (1, 0)):
            if all(op.shape[0] == 1 for op in operands if op.n_batch == from_):
                operands = [bcoo_update_layout(op, n_batch=to) for op in operands]
                break
        n_batches = {op.n_batch for op in operands}
    if len(n_batches) != 1:
        raise ValueError(
            f"bcoo_concatenate requires inputs to have matching batch dimensions; got {operands}."
        )
    n = operands[0].n_batch

    def lead(x: Any) -> tuple[int, ...]:
        return tuple(s for d, s in enumerate(x.shape[:n]) if d != axis)

    if len({(lead(op.data), lead(op.indices)) for op in operands}) != 1:
        raise NotImplementedError(
            "bcoo_concatenate: concatenation of arrays with broadcasted batch indices."
        )
    if axis < n:
        most = max(op.nse for op in operands)
        operands = [with_nse(op, most) for op in operands]
        at = axis
        indices = [op.indices for op in operands]
    elif axis < n + operands[0].n_sparse:
        at = n
        offsets = np.cumsum([0, *(op.shape[axis] for op in operands[:-1])])
        steps = np.zeros((len(operands), operands[0].n_sparse), operands[0].indices.dtype)
        steps[:, axis - n] = offsets
        indices = [
            op.indices + step if step.any() else op.indices
            for op, step in zip(operands, steps, strict=True)
        ]
    else:
        raise NotImplementedError(
            f"bcoo_concatenate: Concatenation along dense dimensions: {dimension=} of {operands[0]}."
        )
    return BCOO(
        (lax.concatenate([op.data for op in operands], at), lax.concatenate(indices, at)),
        shape=shape,
    )


def bcoo_gather(
    operand: BCOO,
    start_indices: Any,
    dimension_numbers: lax.GatherDimensionNumbers,
    slice_sizes: Shape,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> BCOO:
    """``lax.gather`` of a BCOO array.

    Args:
        operand: the array.
        start_indices: where windows start.
        dimension_numbers: which axis means what.
        slice_sizes: sizes of a window.
        unique_indices: as of ``lax.gather``.
        indices_are_sorted: as of ``lax.gather``.
        mode: ``None`` or ``"promise_in_bounds"``.
        fill_value: as of ``lax.gather``.

    Raises:
        NotImplementedError: another mode is asked for.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([5.0, 0.0, 7.0]))
        >>> numbers = lax.GatherDimensionNumbers((), (0,), (0,))
        >>> sparse.bcoo_gather(M, jnp.array([[2], [0]]), numbers, (1,)).todense()
        Array([7., 5.], dtype=float32)
    """
    promise = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if mode is not None and lax.GatherScatterMode.from_any(mode) is not promise:
        raise NotImplementedError(
            f"bcoo_gather: mode={mode!r} not yet supported; leave it out, or give 'promise_in_bounds'."
        )
    if dimension_numbers.operand_batching_dims:
        raise NotImplementedError(
            f"bcoo_gather: operand_batching_dims are not supported, got {dimension_numbers}."
        )
    del unique_indices, indices_are_sorted, fill_value
    start_indices = jnp.asarray(start_indices)
    wanted = out_aval(
        lambda x, i: lax.gather(x, i, dimension_numbers, slice_sizes, mode=promise),
        "gather",
        ShapedArray(operand.shape, operand.dtype),
        aval_of(start_indices),
    )
    starts: list[Any] = [jnp.zeros((), start_indices.dtype)] * operand.ndim
    mapped: list[int | None] = [None] * operand.ndim
    sizes = list(slice_sizes)
    for column, d in enumerate(dimension_numbers.start_index_map):
        starts[d] = start_indices[..., column].reshape(-1)
        mapped[d] = 0

    def window(*at: Any) -> BCOO:
        cut = bcoo_dynamic_slice(operand, at, sizes)
        return bcoo_squeeze(cut, dimensions=dimension_numbers.collapsed_slice_dims)

    result = vmap(window, in_axes=tuple(mapped))(*starts)
    result = bcoo_reshape(result, new_sizes=(*start_indices.shape[:-1], *result.shape[1:]))
    offset = dimension_numbers.offset_dims
    if result.shape:
        order = np.zeros(result.ndim, int)
        batch = [d for d in range(len(wanted.shape)) if d not in offset]
        order[[*batch, *offset]] = np.arange(result.ndim)
        if sorted(order[: len(batch)]) != list(range(len(batch))):
            result = bcoo_update_layout(result, n_batch=0)
        result = bcoo_transpose(result, permutation=tuple(int(d) for d in order))
    return result
