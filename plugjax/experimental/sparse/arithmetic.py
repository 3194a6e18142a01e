"""Sums and elementwise products of BCOO arrays, and convolution along one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plugjax import lax, numpy as jnp
from plugjax.experimental.sparse import primitives
from plugjax.experimental.sparse.bcoo import BCOO
from plugjax.experimental.sparse.functions import without_padding
from plugjax.experimental.sparse.layout import bcoo_properties
from plugjax.experimental.sparse.places import (
    columns,
    gather_rows,
    inside,
    mapped,
    with_batch,
)
from plugjax.experimental.sparse.reshaping import bcoo_update_layout
from plugjax.extend.core import Array, ShapedArray, aval_of
from plugjax.extend.transforms import stage


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """A BCOO array summed along axes. Values at equal indices are not joined.

    Args:
        mat: the array.
        axes: to sum along.

    Raises:
        ValueError: an axis is out of range.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([[1.0, 0.0], [2.0, 3.0]]))
        >>> sparse.bcoo_reduce_sum(M, axes=(0,)).todense()
        Array([3., 3.], dtype=float32)
    """
    data, indices = mat._bufs
    props = bcoo_properties(data, indices, mat.shape)
    n, n_sparse = props.n_batch, props.n_sparse
    if any(not 0 <= d < mat.ndim for d in axes):
        raise ValueError(f"bcoo_reduce_sum: axes {tuple(axes)} do not lie in {mat}.")
    summed = sorted(set(axes))
    data = without_padding(mat)
    dense = tuple(d - n_sparse + 1 for d in summed if d >= n + n_sparse)
    data = data.sum(dense, dtype=data.dtype) if dense else data
    indices = columns(indices, [c for c in range(n_sparse) if c + n not in summed])
    batch = [d for d in summed if d < n]
    for d in batch:
        if data.shape[d] == indices.shape[d] == 1:
            data = data * jnp.asarray(mat.shape[d], data.dtype)
        elif data.shape[d] == 1:
            data = with_batch(data, (*data.shape[:d], mat.shape[d]))
        elif indices.shape[d] == 1:
            data = data.sum(d, keepdims=True, dtype=data.dtype)
    kept = [d for d in range(n) if d not in batch]
    rows = mat.nse * math.prod(data.shape[d] for d in batch)

    def merged(x: Any) -> Any:
        if not batch:
            return x
        x = lax.transpose(x, (*kept, *batch, *range(n, x.ndim)))
        return x.reshape((*(x.shape[: len(kept)]), rows, *x.shape[n + 1 :]))

    shape = tuple(s for d, s in enumerate(mat.shape) if d not in summed)
    return BCOO((merged(data), merged(indices)), shape=shape)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The elementwise product of BCOO arrays: all pairs of stored elements with equal indices.

    Args:
        lhs: array.
        rhs: array of equal rank. Axes of size 1 are broadcast.

    Raises:
        TypeError: ranks differ.
        NotImplementedError: numbers of dense axes differ.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
        >>> sparse.bcoo_multiply_sparse(M, M).todense()
        Array([0., 4., 9.], dtype=float32)
    """
    if lhs.ndim != rhs.ndim:
        raise TypeError(
            "bcoo_multiply_sparse: arrays must have same number of dimensions, got "
            f"{lhs.shape}, {rhs.shape}."
        )
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError(
            f"bcoo_multiply_sparse: arrays with differing numbers of dense dimensions: {lhs}, {rhs}. Use update_layout "
            "first."
        )
    shape = jnp.broadcast_shapes(lhs.shape, rhs.shape)
    n = min(lhs.n_batch, rhs.n_batch)
    lhs_inner, rhs_inner = lhs.shape[n:], rhs.shape[n:]

    def pairs(a_data: Any, a: Any, b_data: Any, b: Any) -> tuple[Any, Any]:
        x, y = BCOO((a_data, a), shape=lhs_inner), BCOO((b_data, b), shape=rhs_inner)
        x, y = (bcoo_update_layout(m, n_batch=0) for m in (x, y))
        k = x.n_sparse
        both = [c for c in range(k) if lhs_inner[c] != 1 and rhs_inner[c] != 1]
        meets = columns(x.indices, both)[:, None] == columns(y.indices, both)[None]
        size = x.nse * y.nse
        i, j = jnp.nonzero(meets.all(-1), size=size, fill_value=(x.nse, y.nse))
        data = gather_rows(x.data, i[:, None]) * gather_rows(y.data, j[:, None])
        far = max((*lhs_inner, *rhs_inner), default=0)
        # Along an axis of size 1 the index is 0, so the greater one counts. Where no pair is left both are out of bounds.
        found = (m.indices.at[at].get(mode="fill", fill_value=far) for m, at in ((x, i), (y, j)))
        return data, jnp.maximum(*found)

    buffers = mapped(pairs, n)(*lhs._bufs, *rhs._bufs)
    return BCOO(buffers, shape=shape)


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """Data of the elementwise product of a BCOO array and a dense one.

    Args:
        sp_mat: the BCOO array.
        v: a dense array that broadcasts to its shape.

    Returns:
        Data for the indices of ``sp_mat``.

    Raises:
        NotImplementedError: the product has another shape.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
        >>> sparse.bcoo_multiply_dense(M, jnp.array([1.0, 10.0, 100.0]))
        Array([ 20., 300.], dtype=float32)
    """
    data, indices = sp_mat._bufs
    v = jnp.asarray(v)
    if not v.ndim:
        return lax.mul(data, v)
    shape = sp_mat.shape
    if v.shape != shape and (v.ndim > len(shape) or jnp.broadcast_shapes(v.shape, shape) != shape):
        raise NotImplementedError(
            "bcoo_multiply_dense: multiplication between sparse and dense is only implemented for cases where the output "
            f"shape matches the sparse matrix shape. Got {shape} and {v.shape}."
        )
    v = lax.expand_dims(v, tuple(range(len(shape) - v.ndim)))
    props = bcoo_properties(data, indices, shape)
    n = props.n_batch
    if v.shape == shape:
        (found,) = primitives.bcoo_extract_p.bind(indices, v, assume_unique=True)
        return lax.mul(data, found) if data.shape == found.shape else jnp.multiply(data, found)
    # Axes of size 1 are read once.
    looked_up = [c for c in range(props.n_sparse) if v.shape[n + c] != 1]
    dropped = tuple(n + c for c in range(props.n_sparse) if v.shape[n + c] == 1)
    values = lax.squeeze(v, dropped) if dropped else v

    def product(d: Any, i: Any, x: Any) -> Any:
        return d * gather_rows(x, columns(i, looked_up))

    return mapped(product, n)(data, indices, values)


def bcoo_conv_general_dilated(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> BCOO:
    """``lax.conv_general_dilated`` of BCOO arrays, or one and a dense array, along one axis.

    Args:
        lhs: ``[1, 1, n]``.
        rhs: ``[1, 1, m]``.
        window_strides: 1.
        padding: as of ``lax.conv_general_dilated``.
        lhs_dilation: 1.
        rhs_dilation: 1.
        dimension_numbers: as of ``lax.conv_general_dilated``.
        feature_group_count: 1.
        batch_group_count: 1.
        precision: as of ``lax.conv_general_dilated``.
        preferred_element_type: as of ``lax.conv_general_dilated``.
        out_sharding: not used.

    Raises:
        NotImplementedError: another convolution is asked for.
        TypeError: an operand is no array.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([[[1.0, 0.0, 2.0]]]))
        >>> k = jnp.array([[[1.0, 10.0]]])
        >>> sparse.bcoo_conv_general_dilated(M, k, window_strides=(1,), padding="VALID").todense()
        Array([[[ 1., 20.]]], dtype=float32)
    """
    del out_sharding
    avals = []
    for x in (lhs, rhs):
        if not hasattr(x, "shape") or not hasattr(x, "dtype"):
            raise TypeError(
                f"bcoo_conv_general_dilated: input of type {type(x)} not recognized; give BCOO or dense arrays."
            )
        avals.append(ShapedArray(tuple(x.shape), x.dtype))
    program = stage(
        lambda x, y: [
            lax.conv_general_dilated(
                x,
                y,
                window_strides=window_strides,
                padding=padding,
                lhs_dilation=lhs_dilation,
                rhs_dilation=rhs_dilation,
                dimension_numbers=dimension_numbers,
                feature_group_count=feature_group_count,
                batch_group_count=batch_group_count,
                precision=precision,
                preferred_element_type=preferred_element_type,
            )
        ],
        avals,
        "conv_general_dilated",
    )
    params = next(eqn.params for eqn in program.eqns if eqn.primitive is lax.conv_general_dilated_p)
    spatial = (1,) * (lhs.ndim - 2)
    for name in ("lhs_dilation", "rhs_dilation", "window_strides"):
        if tuple(params[name]) != spatial:
            raise NotImplementedError(
                f"bcoo convolution with {name}={params[name]} is not supported, only with 1."
            )
    if not params["batch_group_count"] == params["feature_group_count"] == 1:
        raise NotImplementedError("bcoo convolution with non-unit group counts.")
    if not tuple(lhs.shape[:2]) == tuple(rhs.shape[:2]) == (1, 1) or lhs.ndim != 3:
        raise NotImplementedError(
            "bcoo convolution with leading dimensions other than (1, 1), or with several spatial axes: got "
            f"{lhs.shape} and {rhs.shape}."
        )
    index_dtype = next((x.indices.dtype for x in (lhs, rhs) if isinstance(x, BCOO)), "int32")
    ((low, high),) = params["padding"]
    x, y = _one_axis(lhs, index_dtype), _one_axis(rhs, index_dtype)
    data = (x.data[:, None] * y.data[None]).reshape(-1)
    indices = (x.indices[:, None, 0] + (low - y.indices[None, :, 0])).reshape(-1)
    before = indices < 0
    data = jnp.where(before, jnp.zeros((), data.dtype), data)
    indices = jnp.where(before, 0, indices)
    size = max(0, x.shape[0] + low + high - y.shape[0] + 1)
    return BCOO((data[None, None], indices[None, None, :, None]), shape=(1, 1, size))


def _one_axis(mat: Any, index_dtype: Any) -> BCOO:
    if isinstance(mat, BCOO):
        mat = bcoo_update_layout(mat, n_batch=2, n_dense=0)
        data, indices = (lax.squeeze(x, (0, 1)) for x in mat._bufs)
        keep = inside(indices, mat.shape[2:])
        return BCOO(
            (jnp.where(keep, data, jnp.zeros((), data.dtype)), indices), shape=mat.shape[2:]
        )
    if not isinstance(mat, Array):
        mat = jnp.asarray(mat)
    size = aval_of(mat).shape[2]
    indices = lax.broadcasted_iota(index_dtype, (size, 1), 0)
    return BCOO((lax.squeeze(mat, (0, 1)), indices), shape=(size,))
