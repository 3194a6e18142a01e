"""CSR and CSC: matrices with compressed rows, and with compressed columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from plugjax import numpy as jnp
from plugjax.experimental import sparse
from plugjax.experimental.sparse import primitives
from plugjax.experimental.sparse.base import JAXSparse, Shape, diagonal_places
from plugjax.experimental.sparse.coo import promoted
from plugjax.experimental.sparse.functions import known_nse
from plugjax.tree_util import register_pytree_node_class


class _Compressed(JAXSparse):
    """A matrix by values, indices along one axis, and where each entry of the other one, the compressed, starts."""

    indices: Any
    indptr: Any
    _compressed_axis: ClassVar[int]

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        super().__init__(args, shape=shape)

    @property
    def _bufs(self) -> tuple[Any, Any, Any]:
        return self.data, self.indices, self.indptr

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
    def _empty(cls, shape: Shape, *, dtype: Any = None, index_dtype: Any = "int32") -> Any:
        if len(shape) != 2:
            raise ValueError(f"{cls.__name__} must have ndim=2; got {shape=}.")
        starts = jnp.zeros(shape[cls._compressed_axis] + 1, index_dtype)
        return cls((jnp.empty(0, dtype), jnp.empty(0, index_dtype), starts), shape=shape)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Buffers, and the shape."""
        return self._bufs, self.shape

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Any:
        """The matrix of buffers and its shape."""
        found = object.__new__(cls)
        found.data, found.indices, found.indptr = children
        found.shape = aux_data
        return found

    def _product(self, other: Any, shape: Shape, transpose: bool) -> Any:
        other, data = promoted(self, other)
        primitive = primitives.csr_matvec_p if other.ndim == 1 else primitives.csr_matmat_p
        (found,) = primitive.bind(
            data, self.indices, self.indptr, other, shape=shape, transpose=transpose
        )
        return found


@register_pytree_node_class
class CSR(_Compressed):
    """A matrix by values, columns, and where each row starts. BCSR can do more.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.CSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> M @ jnp.array([1.0, 10.0])
        Array([20.,  3.], dtype=float32)
    """

    _compressed_axis = 0

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """What is not 0 in a dense matrix; see :func:`csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _eye(
        cls,
        N: int,  # noqa: N803  # NumPy's names
        M: int,  # noqa: N803
        k: int,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
    ) -> CSR:
        columns = diagonal_places(N, M, k)[1].astype(index_dtype)
        size = columns.size
        if not size:
            found: CSR = cls._empty((N, M), dtype=dtype, index_dtype=index_dtype)
            return found
        starts = np.clip(np.arange(N + 1) + min(k, 0), 0, size).astype(index_dtype)
        return cls((jnp.ones(size, dtype), columns, starts), shape=(N, M))

    def todense(self) -> Any:
        """The matrix as a dense one."""
        return csr_todense(self)

    def transpose(self, axes: None = None) -> CSC:
        """The transposed matrix, with compressed columns."""
        _no_axes(axes)
        return CSC(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        return self._product(other, self.shape, False)


@register_pytree_node_class
class CSC(_Compressed):
    """A matrix by values, rows, and where each column starts.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.CSC.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> M @ jnp.array([1.0, 10.0])
        Array([20.,  3.], dtype=float32)
    """

    _compressed_axis = 1

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """What is not 0 in a dense matrix; see :func:`csr_fromdense`."""
        return csr_fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).transpose()

    @classmethod
    def _eye(
        cls,
        N: int,  # noqa: N803  # NumPy's names
        M: int,  # noqa: N803
        k: int,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
    ) -> CSC:
        return CSR._eye(M, N, -k, dtype=dtype, index_dtype=index_dtype).transpose()

    def todense(self) -> Any:
        """The matrix as a dense one."""
        return csr_todense(self.transpose()).T

    def transpose(self, axes: None = None) -> CSR:
        """The transposed matrix, with compressed rows."""
        _no_axes(axes)
        return CSR(self._bufs, shape=self.shape[::-1])

    def __matmul__(self, other: Any) -> Any:
        return self._product(other, self.shape[::-1], True)


def _no_axes(axes: Any) -> None:
    if axes is not None:
        raise NotImplementedError("transpose of a sparse matrix takes no axes; leave them out.")


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """The CSR matrix of what is not 0 in a dense one.

    Args:
        mat: ``[m, n]``.
        nse: number of stored elements; by default as many as there are.
        index_dtype: dtype of the indices.

    Raises:
        ConcretizationTypeError: ``nse`` is left out of traced code.
        ValueError: ``mat`` is no matrix.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.csr_fromdense(jnp.array([[0.0, 2.0], [3.0, 4.0]])).indptr
        Array([0, 1, 3], dtype=int32)
    """
    mat = jnp.asarray(mat)
    buffers = primitives.csr_fromdense_p.bind(
        mat,
        nse=known_nse((mat != 0).sum() if nse is None else nse, "csr_fromdense"),
        index_dtype=np.dtype(index_dtype),
    )
    return CSR(buffers, shape=mat.shape)


def csr_todense(mat: CSR) -> Any:
    """The dense matrix that a CSR matrix stands for.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.csr_todense(sparse.eye(2, sparse_format="csr"))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    (found,) = primitives.csr_todense_p.bind(*mat._bufs, shape=mat.shape)
    return found


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """A CSR matrix, or its transpose, times a vector of the same dtype.

    Raises:
        TypeError: dtypes differ.
        ValueError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.CSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> sparse.csr_matvec(M, jnp.array([1.0, 10.0]), transpose=True)
        Array([30.,  2.], dtype=float32)
    """
    (found,) = primitives.csr_matvec_p.bind(
        *mat._bufs, jnp.asarray(v), shape=mat.shape, transpose=bool(transpose)
    )
    return found


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:  # noqa: N803  # JAX's name
    """A CSR matrix, or its transpose, times a matrix of the same dtype.

    Raises:
        TypeError: dtypes differ.
        ValueError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.CSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> sparse.csr_matmat(M, jnp.array([[1.0], [10.0]]))
        Array([[20.],
               [ 3.]], dtype=float32)
    """
    (found,) = primitives.csr_matmat_p.bind(
        *mat._bufs, jnp.asarray(B), shape=mat.shape, transpose=bool(transpose)
    )
    return found


def __getattr__(name: str) -> Any:
    # JAX has functions and primitives of a format in its module.
    if name.startswith("csr_"):
        return getattr(sparse, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
