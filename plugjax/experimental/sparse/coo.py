"""COO: matrices by values, rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plugjax import lax, numpy as jnp
from plugjax.experimental import sparse
from plugjax.experimental.sparse import primitives
from plugjax.experimental.sparse.base import JAXSparse, Shape, diagonal_places
from plugjax.experimental.sparse.functions import known_nse
from plugjax.tree_util import register_pytree_node_class


class COOInfo(NamedTuple):
    """What describes a COO matrix beside its buffers."""

    shape: Shape
    rows_sorted: bool = False
    cols_sorted: bool = False


@register_pytree_node_class
class COO(JAXSparse):
    """A matrix by values, rows and columns, each ``[nse]``. BCOO can do more.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.COO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> M @ jnp.array([1.0, 10.0])
        Array([20.,  3.], dtype=float32)
    """

    row: Any
    col: Any
    _rows_sorted: bool
    _cols_sorted: bool

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        self.data, self.row, self.col = map(jnp.asarray, args)
        self._rows_sorted = rows_sorted
        self._cols_sorted = cols_sorted
        super().__init__(args, shape=shape)

    @property
    def _info(self) -> COOInfo:
        return COOInfo(self.shape, self._rows_sorted, self._cols_sorted)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.row, self.col

    @property
    def nse(self) -> int:
        """Number of stored elements."""
        count: int = self.data.size
        return count

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the values."""
        return self.data.dtype

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """What is not 0 in a dense matrix; see :func:`coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def _sort_indices(self) -> COO:
        """The matrix with its indices in lexicographic order."""
        if self._rows_sorted:
            return self
        row, col, data = lax.sort((self.row, self.col, self.data), num_keys=2)
        return COO((data, row, col), shape=self.shape, rows_sorted=True)

    @classmethod
    def _empty(cls, shape: Shape, *, dtype: Any = None, index_dtype: Any = "int32") -> COO:
        if len(shape) != 2:
            raise ValueError(f"COO must have ndim=2; got {shape=}.")
        none = jnp.empty(0, index_dtype)
        return cls(
            (jnp.empty(0, dtype), none, none), shape=shape, rows_sorted=True, cols_sorted=True
        )

    @classmethod
    def _eye(
        cls,
        N: int,  # noqa: N803  # NumPy's names
        M: int,  # noqa: N803
        k: int,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
    ) -> COO:
        row, col = (x.astype(index_dtype) for x in diagonal_places(N, M, k))
        if not row.size:
            return cls._empty((N, M), dtype=dtype, index_dtype=index_dtype)
        ones = jnp.ones(row.size, dtype)
        return cls((ones, row, col), shape=(N, M), rows_sorted=True, cols_sorted=True)

    def todense(self) -> Any:
        """The matrix as a dense one."""
        return coo_todense(self)

    def transpose(self, axes: tuple[int, ...] | None = None) -> COO:
        """The transposed matrix."""
        if axes is not None:
            raise NotImplementedError("COO: axes argument to transpose(); leave it out.")
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self._cols_sorted,
            cols_sorted=self._rows_sorted,
        )

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Buffers, and what else describes the matrix."""
        return self._bufs, self._info

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> COO:
        """The matrix of buffers and their description."""
        found: COO = object.__new__(cls)
        found.data, found.row, found.col = children
        found.shape, found._rows_sorted, found._cols_sorted = aux_data
        return found

    def __matmul__(self, other: Any) -> Any:
        other, data = promoted(self, other)
        promoted_self = COO((data, self.row, self.col), **self._info._asdict())
        product = coo_matvec if other.ndim == 1 else coo_matmat
        return product(promoted_self, other)


def promoted(mat: Any, other: Any) -> tuple[Any, Any]:
    """A dense operand and the data of a sparse matrix, of one dtype.

    Raises:
        NotImplementedError: the operand is sparse, or neither a vector nor a matrix.
    """
    if isinstance(other, JAXSparse):
        raise NotImplementedError("matmul between two sparse objects. Use BCOO arrays.")
    other = jnp.asarray(other)
    if other.ndim not in (1, 2):
        raise NotImplementedError(
            f"matmul with object of shape {other.shape}: only vectors and matrices. Use BCOO arrays."
        )
    dtype = jnp.result_type(mat.data, other)
    return other.astype(dtype), mat.data.astype(dtype)


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
    """The COO matrix of what is not 0 in a dense one.

    Args:
        mat: ``[m, n]``.
        nse: number of stored elements; by default as many as there are. What fills it up is 0 at (0, 0).
        index_dtype: dtype of the indices.

    Raises:
        ConcretizationTypeError: ``nse`` is left out of traced code.
        ValueError: ``mat`` is no matrix.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.coo_fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]])).col
        Array([1, 0], dtype=int32)
    """
    mat = jnp.asarray(mat)
    buffers = primitives.coo_fromdense_p.bind(
        mat,
        nse=known_nse((mat != 0).sum() if nse is None else nse, "coo_fromdense"),
        index_dtype=np.dtype(index_dtype),
    )
    return COO(buffers, shape=mat.shape, rows_sorted=True)


def coo_todense(mat: COO) -> Any:
    """The dense matrix that a COO matrix stands for.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.coo_todense(sparse.eye(2, sparse_format="coo"))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    (found,) = primitives.coo_todense_p.bind(*mat._bufs, spinfo=mat._info)
    return found


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """A COO matrix, or its transpose, times a vector of the same dtype.

    Raises:
        TypeError: dtypes differ.
        ValueError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.COO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> sparse.coo_matvec(M, jnp.array([1.0, 10.0]), transpose=True)
        Array([30.,  2.], dtype=float32)
    """
    (found,) = primitives.coo_matvec_p.bind(
        *mat._bufs, jnp.asarray(v), spinfo=mat._info, transpose=bool(transpose)
    )
    return found


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Any:  # noqa: N803  # JAX's name
    """A COO matrix, or its transpose, times a matrix of the same dtype.

    Raises:
        TypeError: dtypes differ.
        ValueError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.COO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> sparse.coo_matmat(M, jnp.array([[1.0], [10.0]]))
        Array([[20.],
               [ 3.]], dtype=float32)
    """
    (found,) = primitives.coo_matmat_p.bind(
        *mat._bufs, jnp.asarray(B), spinfo=mat._info, transpose=bool(transpose)
    )
    return found


def __getattr__(name: str) -> Any:
    # JAX has functions and primitives of a format in its module.
    if name.startswith("coo_"):
        return getattr(sparse, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
