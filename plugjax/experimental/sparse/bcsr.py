"""BCSR: batched matrices with compressed rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax, numpy as jnp
from plugjax.experimental import sparse
from plugjax.experimental.sparse import primitives
from plugjax.experimental.sparse.base import JAXSparse, Shape, take_operators
from plugjax.experimental.sparse.bcoo import BCOO
from plugjax.experimental.sparse.bcsr_buffers import bcsr_properties, compressed, coordinates
from plugjax.experimental.sparse.dense import count_stored
from plugjax.experimental.sparse.dot import normalized
from plugjax.experimental.sparse.functions import (
    bcoo_eliminate_zeros,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    known_nse,
)
from plugjax.experimental.sparse.layout import SparseInfo
from plugjax.experimental.sparse.reshaping import bcoo_broadcast_in_dim
from plugjax.experimental.sparse.slicing import bcoo_concatenate
from plugjax.extend.core import Array
from plugjax.extend.transforms import register_mapped
from plugjax.tree_util import register_pytree_node_class


@register_pytree_node_class
class BCSR(JAXSparse):
    """An array of shape ``[batch..., rows, columns, dense...]`` by values, columns, and where each row starts.

    A pytree of ``data``, ``indices`` and ``indptr``.

    Shapes:
        data: ``[batch..., nse, dense...]``.
        indices: ``[batch..., nse]``, integer: the columns.
        indptr: ``[batch..., rows + 1]``, integer: where each row starts; what follows the last one is padding.

    Raises:
        TypeError: indices are no integers.
        ValueError: shapes do not fit one another.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> M.indptr
        Array([0, 1, 2], dtype=int32)
        >>> M @ jnp.array([1.0, 10.0])
        Array([20.,  3.], dtype=float32)
    """

    indices: Any
    indptr: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        super().__init__(args, shape=shape)
        bcsr_properties(self.data, self.indices, self.indptr, self.shape)

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

    @property
    def nse(self) -> int:
        """Number of stored elements, padding included."""
        count: int = self.indices.shape[-1]
        return count

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the values."""
        return self.data.dtype

    @property
    def n_batch(self) -> int:
        """Number of batch axes."""
        count: int = self.indices.ndim - 1
        return count

    @property
    def n_sparse(self) -> int:
        """Number of sparse axes, 2."""
        return 2

    @property
    def n_dense(self) -> int:
        """Number of dense axes."""
        count: int = self.data.ndim - self.indices.ndim
        return count

    @property
    def _sparse_shape(self) -> Shape:
        return self.shape[self.n_batch : self.n_batch + 2]

    def _extra(self) -> str:
        batch = f", n_batch={self.n_batch}" if self.n_batch else ""
        return batch + (f", n_dense={self.n_dense}" if self.n_dense else "")

    def transpose(self, *args: Any, **kwargs: Any) -> Any:
        """Not implemented, as in JAX: transpose the BCOO array."""
        raise NotImplementedError(
            "BCSR: Transpose is not implemented. Transpose to_bcoo() instead."
        )

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The array with each index once; see :meth:`BCOO.sum_duplicates`."""
        if remove_zeros:
            return bcsr_eliminate_zeros(self, nse=nse)
        return bcsr_sum_duplicates(self, nse=nse)

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: Any = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCSR:
        """What is not 0 in a dense array; see :func:`bcsr_fromdense`."""
        return bcsr_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """A BCOO array with two sparse axes.

        Raises:
            NotImplementedError: it has another number of them.
        """
        if arr.n_sparse != 2:
            raise NotImplementedError(
                f"BCSR.from_bcoo requires n_sparse=2; got {arr.n_sparse=}. Use update_layout first."
            )
        if not arr.indices_sorted:
            arr = bcoo_sort_indices(arr)
        indices, indptr = compressed(arr.indices, arr.shape, arr.indices.dtype)
        return cls((arr.data, indices, indptr), shape=arr.shape)

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """The elements that a ``scipy.sparse`` matrix stores.

        Raises:
            NotImplementedError: batch or dense axes are asked for.
            ValueError: it is no matrix.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCSR.from_scipy_sparse with nonzero n_dense/n_batch.")
        if mat.ndim != 2:
            raise ValueError(f"BCSR.from_scipy_sparse requires 2D array; {mat.ndim}D is given.")
        found = mat.tocsr()
        dtype = index_dtype or np.int32
        indices, indptr = found.indices.astype(dtype), found.indptr.astype(dtype)
        return cls((found.data, indices, indptr), shape=found.shape)

    @classmethod
    def _empty(
        cls,
        shape: Shape,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
        nse: int = 0,
    ) -> BCSR:
        if min(n_dense, n_batch, nse) < 0:
            raise ValueError(f"BCSR: Invalid inputs: {shape=}, {n_dense=}, {n_batch=}, {nse=}.")
        if len(shape) - n_dense - n_batch != 2:
            raise ValueError(
                f"BCSR sparse.empty: must have 2 sparse dimensions; got {shape=}, {n_dense=}, {n_batch=}."
            )
        batch, (rows, columns), rest = shape[:n_batch], shape[n_batch:][:2], shape[n_batch + 2 :]
        return cls(
            (
                jnp.zeros((*batch, nse, *rest), dtype),
                jnp.full((*batch, nse), columns, index_dtype),
                jnp.zeros((*batch, rows + 1), index_dtype),
            ),
            shape=shape,
        )

    def todense(self) -> Any:
        """The array as a dense one."""
        return bcsr_todense(self)

    def to_bcoo(self) -> BCOO:
        """The array as a BCOO array."""
        return BCOO((self.data, coordinates(self.indices, self.indptr)), shape=self.shape)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Buffers, and what else describes the array."""
        return (self.data, self.indices, self.indptr), self._info

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> BCSR:
        """The array of buffers and their description."""
        found: BCSR = object.__new__(cls)
        found.data, found.indices, found.indptr = children
        found.shape, found.indices_sorted, found.unique_indices = aux_data
        return found


take_operators(BCSR, ("__matmul__", "__rmatmul__", "__getitem__"))


def _without_axis(mat: BCSR, axis: int) -> BCSR:
    if not 0 <= axis < mat.n_batch:
        raise ValueError(
            f"vmap: Cannot map in_axis={axis} for BCSR array with n_batch={mat.n_batch}: a mapped axis is a batch axis."
        )
    info = mat._info._replace(shape=mat.shape[:axis] + mat.shape[axis + 1 :])
    return BCSR.tree_unflatten(info, mat._bufs)


def _with_axis(mat: BCSR, axis: int, size: int) -> BCSR:
    n_batch = mat.n_batch - 1
    if not 0 <= axis <= n_batch:
        raise ValueError(
            f"vmap: BCSR: cannot add out_axis={axis} for BCSR array with n_batch={n_batch}: batch axes come first."
        )
    info = mat._info._replace(shape=(*mat.shape[:axis], size, *mat.shape[axis:]))
    return BCSR.tree_unflatten(info, mat._bufs)


register_mapped(BCSR, _without_axis, _with_axis)


def bcsr_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCSR:
    """The BCSR array of what is not 0 in a dense one.

    Args:
        mat: array with two axes beside batch and dense ones.
        nse: number of stored elements; by default as many as there are.
        n_batch: number of batch axes, the first ones.
        n_dense: number of dense axes, the last ones.
        index_dtype: dtype of the indices.

    Raises:
        ConcretizationTypeError: ``nse`` is left out of traced code.
        ValueError: there are not two sparse axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.bcsr_fromdense(jnp.array([[0.0, 2.0], [3.0, 4.0]])).indices
        Array([1, 0, 1], dtype=int32)
    """
    mat = jnp.asarray(mat)
    if nse is None:
        nse = count_stored(mat, n_batch, n_dense)
    buffers = primitives.bcsr_fromdense_p.bind(
        mat,
        nse=known_nse(nse, "bcsr_fromdense"),
        n_batch=n_batch,
        n_dense=n_dense,
        index_dtype=np.dtype(index_dtype),
    )
    return BCSR(buffers, shape=mat.shape)


def bcsr_todense(mat: BCSR) -> Any:
    """The dense array that a BCSR array stands for.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> buffers = jnp.array([4.0]), jnp.array([1]), jnp.array([0, 1])
        >>> sparse.bcsr_todense(sparse.BCSR(buffers, shape=(1, 3)))
        Array([[0., 4., 0.]], dtype=float32)
    """
    (found,) = primitives.bcsr_todense_p.bind(*mat._bufs, spinfo=mat._info)
    return found


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """Elements of a dense array at BCSR indices.

    Args:
        indices: ``[batch..., nse]``.
        indptr: ``[batch..., rows + 1]``.
        mat: ``[batch..., rows, columns, dense...]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.bcsr_extract(jnp.array([1]), jnp.array([0, 1]), jnp.array([[5.0, 6.0]]))
        Array([6.], dtype=float32)
    """
    (found,) = primitives.bcsr_extract_p.bind(*map(jnp.asarray, (indices, indptr, mat)))
    return found


def bcsr_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """``lax.dot_general`` of a BCSR array and a dense one.

    Args:
        lhs: BCSR or dense array.
        rhs: dense array.
        dimension_numbers: as of ``lax.dot_general``.
        precision: not used.
        preferred_element_type: dtype of the result.
        out_sharding: not used.

    Raises:
        NotImplementedError: the operands are others, or the layout does not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> sparse.bcsr_dot_general(M, jnp.array([1.0, 10.0]), dimension_numbers=(([1], [0]), ([], [])))
        Array([20.,  3.], dtype=float32)
    """
    del precision, out_sharding
    numbers = normalized(dimension_numbers)
    preferred = None if preferred_element_type is None else np.dtype(preferred_element_type)
    if isinstance(rhs, (np.ndarray, Array)):
        if isinstance(lhs, (np.ndarray, Array)):
            return lax.dot_general(lhs, rhs, numbers, preferred_element_type=preferred)
        if isinstance(lhs, BCSR):
            (found,) = primitives.bcsr_dot_general_p.bind(
                *lhs._bufs,
                jnp.asarray(rhs),
                dimension_numbers=numbers,
                preferred_element_type=preferred,
                lhs_spinfo=lhs._info,
            )
            return found
    raise NotImplementedError(
        "bcsr_dot_general currently implemented for BCSR lhs and ndarray rhs; got "
        f"{type(lhs)} and {type(rhs)}. Use BCOO arrays."
    )


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """A BCSR array without stored zeros; see :func:`bcoo_eliminate_zeros`."""
    return BCSR.from_bcoo(bcoo_eliminate_zeros(mat.to_bcoo(), nse=nse))


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """A BCSR array with each index once.

    Args:
        mat: the array.
        nse: number of stored elements; by default as many as there are.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> buffers = jnp.array([4.0, 5.0]), jnp.array([1, 1]), jnp.array([0, 2])
        >>> sparse.bcsr_sum_duplicates(sparse.BCSR(buffers, shape=(1, 3))).data
        Array([9.], dtype=float32)
    """
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse=nse))


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Shape, broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """``lax.broadcast_in_dim`` of a BCSR array; see :func:`bcoo_broadcast_in_dim`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCSR.fromdense(jnp.eye(2))
        >>> sparse.bcsr_broadcast_in_dim(M, shape=(3, 2, 2), broadcast_dimensions=(1, 2))
        BCSR(float32[3, 2, 2], nse=2, n_batch=1)
    """
    del sharding
    found = bcoo_broadcast_in_dim(
        mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions
    )
    return BCSR.from_bcoo(found)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """``lax.concatenate`` of BCSR arrays; see :func:`bcoo_concatenate`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCSR.fromdense(jnp.eye(2))
        >>> sparse.bcsr_concatenate([M, M], dimension=0).indptr
        Array([0, 1, 2, 3, 4], dtype=int32)
    """
    return BCSR.from_bcoo(
        bcoo_concatenate([mat.to_bcoo() for mat in operands], dimension=dimension)
    )


def __getattr__(name: str) -> Any:
    # JAX has functions and primitives of a format in its module.
    if name.startswith("bcsr_"):
        return getattr(sparse, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
