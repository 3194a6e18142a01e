"""Functions of BCOO arrays that are primitives of their own: conversion, order, transposition and products."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax, numpy as jnp
from plugjax.experimental.sparse import primitives
from plugjax.experimental.sparse.bcoo import BCOO
from plugjax.experimental.sparse.dense import count_stored
from plugjax.experimental.sparse.dot import normalized, product_aval
from plugjax.experimental.sparse.layout import bcoo_properties, split_shape
from plugjax.experimental.sparse.order import count_unique
from plugjax.experimental.sparse.places import bounds, inside
from plugjax.extend.core import Tracer, aval_of, concrete_or_error


def bcoo_todense(mat: BCOO) -> Any:
    """The dense array that a BCOO array stands for.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.bcoo_todense(sparse.BCOO((jnp.array([4.0]), jnp.array([[1]])), shape=(3,)))
        Array([0., 4., 0.], dtype=float32)
    """
    (found,) = primitives.bcoo_todense_p.bind(mat.data, mat.indices, spinfo=mat._info)
    return found


def known_nse(nse: Any, who: str) -> int:
    """The number of stored elements as an int.

    Raises:
        ConcretizationTypeError: it is traced.
    """
    return concrete_or_error(
        operator.index,
        nse,
        f"The error arose for the nse argument of {who}: shapes of traced code are fixed, so give the number of stored "
        "elements, an int.",
    )


def bcoo_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCOO:
    """The BCOO array of what is not 0 in a dense one.

    Args:
        mat: the array.
        nse: number of stored elements; by default as many as there are. Elements beyond it are lost, padding fills it up.
        n_batch: number of batch axes, the first ones.
        n_dense: number of dense axes, the last ones.
        index_dtype: dtype of the indices.

    Raises:
        ConcretizationTypeError: ``nse`` is left out of traced code.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.bcoo_fromdense(jnp.array([0.0, 2.0, 0.0, 3.0])).indices.T
        Array([[1, 3]], dtype=int32)
    """
    mat = jnp.asarray(mat)
    if nse is None:
        nse = count_stored(mat, n_batch, n_dense)
    buffers = primitives.bcoo_fromdense_p.bind(
        mat,
        nse=known_nse(nse, "bcoo_fromdense"),
        n_batch=n_batch,
        n_dense=n_dense,
        index_dtype=np.dtype(index_dtype),
    )
    return BCOO(buffers, shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """Elements of a dense array where a BCOO array stores some.

    Args:
        sparr: its indices are read.
        arr: array of the same shape.
        assume_unique: whether indices are taken to be unique; otherwise an index that occurred before gives 0. By default
            what ``sparr`` says.

    Raises:
        TypeError: ``sparr`` is no BCOO array.
        ValueError: shapes differ.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([0.0, 1.0, 1.0]))
        >>> sparse.bcoo_extract(M, jnp.array([5.0, 6.0, 7.0])).data
        Array([6., 7.], dtype=float32)
    """
    if not isinstance(sparr, BCOO):
        raise TypeError(
            f"bcoo_extract: First argument to bcoo_extract should be a BCOO array, got {type(sparr)}."
        )
    a = jnp.asarray(arr)
    if a.shape != sparr.shape:
        raise ValueError(f"bcoo_extract: shape mismatch: {sparr.shape} and {a.shape}.")
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    (data,) = primitives.bcoo_extract_p.bind(sparr.indices, a, assume_unique=bool(unique))
    return BCOO((data, sparr.indices), **sparr._info._asdict())


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """A BCOO array with its axes in another order.

    Args:
        mat: the array.
        permutation: of the axes; those of one kind stay together.

    Raises:
        TypeError: it is no permutation.
        NotImplementedError: it mixes batch, sparse and dense axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0, 0.0]]))
        >>> sparse.bcoo_transpose(M, permutation=(1, 0)).indices
        Array([[1, 0]], dtype=int32)
    """
    buffers: Any = mat._bufs
    if tuple(permutation) != tuple(range(mat.ndim)):
        order = permutation
        if isinstance(permutation, (tuple, list, np.ndarray)):
            order = tuple(int(p) for p in permutation)
        buffers = primitives.bcoo_transpose_p.bind(*buffers, permutation=order, spinfo=mat._info)
    shape = tuple(mat.shape[p] for p in permutation)
    return BCOO(buffers, shape=shape, unique_indices=mat.unique_indices)


def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """``lax.dot_general`` where one operand or both are BCOO arrays.

    Args:
        lhs: BCOO or dense array.
        rhs: BCOO or dense array.
        dimension_numbers: as of ``lax.dot_general``. Batch axes must be batch axes of the layout, dense axes are not
            contracted.
        precision: not used.
        preferred_element_type: dtype of the result.
        out_sharding: not used.

    Returns:
        A dense array; a BCOO array if both operands are.

    Raises:
        NotImplementedError: the layout does not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> sparse.bcoo_dot_general(M, jnp.array([1.0, 10.0]), dimension_numbers=(([1], [0]), ([], [])))
        Array([20.,  3.], dtype=float32)
    """
    del precision, out_sharding
    numbers = normalized(dimension_numbers)
    preferred = None if preferred_element_type is None else np.dtype(preferred_element_type)
    if not (isinstance(lhs, BCOO) or isinstance(rhs, BCOO)):
        return lax.dot_general(lhs, rhs, numbers, preferred_element_type=preferred)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        buffers = primitives.bcoo_spdot_general_p.bind(
            *lhs._bufs,
            *rhs._bufs,
            lhs_spinfo=lhs._info,
            rhs_spinfo=rhs._info,
            dimension_numbers=numbers,
            preferred_element_type=preferred,
        )
        shape = product_aval(lhs.shape, lhs.dtype, rhs.shape, rhs.dtype, numbers, preferred).shape
        return BCOO(buffers, shape=shape)
    params = {"preferred_element_type": preferred}
    if isinstance(lhs, BCOO):
        (found,) = primitives.bcoo_dot_general_p.bind(
            *lhs._bufs,
            jnp.asarray(rhs),
            dimension_numbers=numbers,
            lhs_spinfo=lhs._info,
            **params,
        )
        return found
    (contract, batch) = (pair[::-1] for pair in numbers)
    (found,) = primitives.bcoo_dot_general_p.bind(
        *rhs._bufs,
        jnp.asarray(lhs),
        dimension_numbers=(contract, batch),
        lhs_spinfo=rhs._info,
        **params,
    )
    # Axes of the sparse operand come first there.
    n_batch, swap = len(batch[0]), rhs.ndim - len(contract[0])
    return lax.transpose(found, (*range(n_batch), *range(swap, found.ndim), *range(n_batch, swap)))


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:  # noqa: N803  # JAX's names
    """Elements of a product of dense arrays, at the indices of a BCOO array.

    Args:
        A: dense array.
        B: dense array.
        indices: ``[batch..., nse, n_sparse]``.
        dimension_numbers: as of ``lax.dot_general``.

    Returns:
        Data for these indices, 0 at padding.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> A = jnp.arange(6.0).reshape(2, 3)
        >>> sparse.bcoo_dot_general_sampled(A, A.T, jnp.array([[1, 0]]), dimension_numbers=(([1], [0]), ([], [])))
        Array([14.], dtype=float32)
    """
    (found,) = primitives.bcoo_dot_general_sampled_p.bind(
        jnp.asarray(A),
        jnp.asarray(B),
        jnp.asarray(indices),
        dimension_numbers=normalized(dimension_numbers),
    )
    return found


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """A BCOO array with its indices in lexicographic order.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO((jnp.array([1.0, 2.0]), jnp.array([[2], [0]])), shape=(3,))
        >>> sparse.bcoo_sort_indices(M).data
        Array([2., 1.], dtype=float32)
    """
    buffers = primitives.bcoo_sort_indices_p.bind(*mat._bufs, spinfo=mat._info)
    return BCOO(buffers, shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """A BCOO array with each index once, in lexicographic order, and values at equal indices summed.

    Args:
        mat: the array.
        nse: number of stored elements; by default as many as there are. Indices beyond it are lost.

    Raises:
        ValueError: ``nse`` is left out of traced code.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO((jnp.array([1.0, 2.0]), jnp.array([[2], [2]])), shape=(3,))
        >>> sparse.bcoo_sum_duplicates(M).data
        Array([3.], dtype=float32)
    """
    if nse is None:
        if isinstance(mat.indices, Tracer) and mat.indices._concrete() is None:
            raise ValueError(
                "bcoo_sum_duplicates: nse must be specified when using the function within jit, vmap, and other "
                "transformations that trace indices."
            )
        nse = count_unique(mat.indices, mat.shape)
    buffers = primitives.bcoo_sum_duplicates_p.bind(
        *mat._bufs, spinfo=mat._info, nse=known_nse(nse, "bcoo_sum_duplicates")
    )
    return BCOO(buffers, shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """A BCOO array without stored zeros, with each index once, in lexicographic order.

    Args:
        mat: the array.
        nse: number of stored elements; by default as many as there are.

    Raises:
        ValueError: ``nse`` is left out of traced code.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO((jnp.array([0.0, 2.0]), jnp.array([[2], [1]])), shape=(3,))
        >>> sparse.bcoo_eliminate_zeros(M).indices
        Array([[1]], dtype=int32)
    """
    data, indices = mat._bufs
    props = bcoo_properties(data, indices, mat.shape)
    _, inner, _ = split_shape(mat.shape, props)
    zero = (data == 0).all(tuple(range(props.n_batch + 1, data.ndim)))
    shared = tuple(d for d in range(props.n_batch) if indices.shape[d] == 1)
    zero = zero.all(shared, keepdims=True)
    indices = jnp.where(zero[..., None], bounds(inner, indices), indices)
    return bcoo_sum_duplicates(BCOO((data, indices), shape=mat.shape), nse=nse)


def without_padding(mat: BCOO) -> Any:
    """Values with 0 in place of those at padding."""
    props = bcoo_properties(*mat._bufs, mat.shape)
    if not props.n_sparse:
        return mat.data
    keep = inside(mat.indices, split_shape(mat.shape, props)[1])
    keep = lax.expand_dims(keep, tuple(range(keep.ndim, aval_of(mat.data).ndim)))
    return jnp.where(keep, mat.data, jnp.zeros((), mat.dtype))
