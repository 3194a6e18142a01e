"""BCOO: batched arrays of values and their coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import numpy as jnp
from plugjax.experimental import sparse
from plugjax.experimental.sparse.base import JAXSparse, Shape, diagonal_places, take_operators
from plugjax.experimental.sparse.layout import SparseInfo, bcoo_properties
from plugjax.extend.transforms import register_mapped
from plugjax.tree_util import register_pytree_node_class


@register_pytree_node_class
class BCOO(JAXSparse):
    """An array of shape ``[batch..., sparse..., dense...]`` by values and indices of what is stored.

    A pytree of ``data`` and ``indices``. Operators and methods of arrays work as :func:`sparsify` makes them.

    Shapes:
        data: ``[batch..., nse, dense...]``.
        indices: ``[batch..., nse, n_sparse]``, integer.

    Attributes:
        data: stored values. Values at equal indices are summed.
        indices: where they are. Rows out of bounds are padding.
        shape: of the array.
        indices_sorted: whether indices are in lexicographic order.
        unique_indices: whether no index occurs twice.

    Raises:
        TypeError: indices are no integers.
        ValueError: shapes do not fit one another.

    Differs from JAX:
        A negative index is out of bounds everywhere.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> M
        BCOO(float32[2, 2], nse=2)
        >>> M @ jnp.array([1.0, 10.0])
        Array([20.,  3.], dtype=float32)
    """

    indices: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        super().__init__(args, shape=shape)
        bcoo_properties(self.data, self.indices, self.shape)

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def _bufs(self) -> tuple[Any, Any]:
        return self.data, self.indices

    @property
    def nse(self) -> int:
        """Number of stored elements, padding included."""
        count: int = self.indices.shape[-2]
        return count

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the values."""
        return self.data.dtype

    @property
    def n_batch(self) -> int:
        """Number of batch axes."""
        count: int = self.indices.ndim - 2
        return count

    @property
    def n_sparse(self) -> int:
        """Number of sparse axes."""
        count: int = self.indices.shape[-1]
        return count

    @property
    def n_dense(self) -> int:
        """Number of dense axes."""
        count: int = self.data.ndim - 1 - self.n_batch
        return count

    def _extra(self) -> str:
        batch = f", n_batch={self.n_batch}" if self.n_batch else ""
        return batch + (f", n_dense={self.n_dense}" if self.n_dense else "")

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: Any = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """What is not 0 in a dense array; see :func:`bcoo_fromdense`."""
        return sparse.bcoo_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """The elements that a ``scipy.sparse`` array stores.

        Raises:
            NotImplementedError: batch or dense axes are asked for.
        """
        if n_dense or n_batch:
            raise NotImplementedError(
                "BCOO.from_scipy_sparse with nonzero n_dense/n_batch. Use update_layout on the result."
            )
        found = mat.tocoo()
        indices = np.stack((found.row, found.col), axis=-1).astype(index_dtype or np.int32)
        return cls((jnp.asarray(found.data), jnp.asarray(indices)), shape=found.shape)

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
    ) -> BCOO:
        n_sparse = len(shape) - n_dense - n_batch
        if min(n_sparse, n_dense, n_batch, nse) < 0:
            raise ValueError(
                f"BCOO: Invalid inputs: {shape=}, {n_dense=}, {n_batch=}, {nse=}. Numbers of axes are not negative and "
                "are those of the shape together."
            )
        batch, inner = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
        data = jnp.zeros((*batch, nse, *shape[n_batch + n_sparse :]), dtype)
        indices = jnp.broadcast_to(np.asarray(inner, index_dtype), (*batch, nse, n_sparse))
        return cls((data, indices), shape=shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def _eye(
        cls,
        N: int,  # noqa: N803  # NumPy's names
        M: int,  # noqa: N803
        k: int,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_batch: int = 0,
        n_dense: int = 0,
    ) -> BCOO:
        if min(2 - n_batch - n_dense, n_dense, n_batch) < 0:
            raise ValueError(
                f"BCOO: Invalid inputs: shape={(N, M)}, {n_dense=}, {n_batch=}. A matrix has two axes."
            )
        places = diagonal_places(N, M, k)
        size = places[0].size
        layout = {"n_batch": n_batch, "n_dense": n_dense}
        if not size:
            return cls._empty((N, M), dtype=dtype, index_dtype=index_dtype, **layout)
        if n_dense or n_batch:
            dense = jnp.eye(N, M, k, dtype=dtype)
            return cls.fromdense(dense, index_dtype=index_dtype, **layout)
        indices = np.stack(places, axis=-1).astype(index_dtype)
        return cls(
            (jnp.ones(size, dtype), indices),
            shape=(N, M),
            indices_sorted=True,
            unique_indices=True,
        )

    def update_layout(
        self,
        *,
        n_batch: int | None = None,
        n_dense: int | None = None,
        on_inefficient: str | None = "error",
    ) -> BCOO:
        """The array with other numbers of batch and dense axes; see :func:`bcoo_update_layout`."""
        return sparse.bcoo_update_layout(
            self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
        )

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The array with each index once, in order.

        Args:
            nse: number of stored elements; by default as many as there are, which must be known.
            remove_zeros: whether elements that are 0 are dropped.
        """
        if remove_zeros:
            return sparse.bcoo_eliminate_zeros(self, nse=nse)
        return sparse.bcoo_sum_duplicates(self, nse=nse)

    def sort_indices(self) -> BCOO:
        """The array with its indices in lexicographic order."""
        return sparse.bcoo_sort_indices(self)

    def todense(self) -> Any:
        """The array as a dense one."""
        return sparse.bcoo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The array with its axes in another order, reversed by default."""
        order = list(range(self.ndim))[::-1] if axes is None else list(axes)
        found = sparse.bcoo_transpose(self, permutation=order)
        inner = order[self.n_batch : self.n_batch + self.n_sparse]
        found.indices_sorted = self.indices_sorted and inner == sorted(inner)
        return found

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Buffers, and what else describes the array."""
        return (self.data, self.indices), self._info

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> BCOO:
        """The array of buffers and their description."""
        found: BCOO = object.__new__(cls)
        found.data, found.indices = children
        found.shape, found.indices_sorted, found.unique_indices = aux_data
        return found


take_operators(
    BCOO,
    (
        "astype", "reshape", "sum", "__abs__", "__neg__", "__pos__", "__matmul__", "__rmatmul__", "__mul__", "__rmul__",
        "__truediv__", "__rtruediv__", "__add__", "__radd__", "__sub__", "__rsub__", "__pow__", "__rpow__", "__getitem__",
        "__iter__", "__gt__", "__ge__", "__lt__", "__le__", "__eq__", "__ne__",
    ),
)  # fmt: skip


def _without_axis(mat: BCOO, axis: int) -> BCOO:
    if not 0 <= axis < mat.n_batch:
        raise ValueError(
            f"vmap: Cannot map in_axis={axis} for BCOO array with n_batch={mat.n_batch}: a mapped axis is a batch axis. "
            "Use update_layout first."
        )
    info = mat._info._replace(shape=mat.shape[:axis] + mat.shape[axis + 1 :])
    return BCOO.tree_unflatten(info, mat._bufs)


def _with_axis(mat: BCOO, axis: int, size: int) -> BCOO:
    # One of its axes is new in the buffers, not in the shape.
    n_batch = mat.n_batch - 1
    if not 0 <= axis <= n_batch:
        raise ValueError(
            f"vmap: BCOO: cannot add out_axis={axis} for BCOO array with n_batch={n_batch}: batch axes come first."
        )
    info = mat._info._replace(shape=(*mat.shape[:axis], size, *mat.shape[axis:]))
    return BCOO.tree_unflatten(info, mat._bufs)


register_mapped(BCOO, _without_axis, _with_axis)


def __getattr__(name: str) -> Any:
    # JAX has functions and primitives of a format in its module.
    if name.startswith("bcoo_"):
        return getattr(sparse, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
