"""Values under ``sparsify``: buffers in an environment, and which of them an array is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plugjax import numpy as jnp
from plugjax.experimental.sparse.base import Shape
from plugjax.experimental.sparse.bcoo import BCOO
from plugjax.experimental.sparse.bcsr import BCSR
from plugjax.extend import pytree
from plugjax.extend.core import ShapedArray, aval_of


class SparsifyValue(NamedTuple):
    """An array by the places of its buffers in a :class:`SparsifyEnv`.

    Two arrays with one place for their indices share them.
    """

    shape: Shape
    data_ref: int | None
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool | None = False
    unique_indices: bool | None = False

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def is_sparse(self) -> bool:
        """Whether the array is a BCOO or a BCSR array."""
        return self.indices_ref is not None

    def is_dense(self) -> bool:
        """Whether the array is dense."""
        return self.indices_ref is None

    def is_bcoo(self) -> bool:
        """Whether the array is a BCOO array."""
        return self.is_sparse() and self.indptr_ref is None

    def is_bcsr(self) -> bool:
        """Whether the array is a BCSR array."""
        return self.is_sparse() and self.indptr_ref is not None


class SparsifyEnv:
    """The buffers of arrays."""

    def __init__(self, bufs: Sequence[Any] = ()) -> None:
        self._buffers = list(bufs)

    def _push(self, buffer: Any) -> int:
        self._buffers.append(jnp.asarray(buffer))
        return len(self._buffers) - 1

    def _buffer(self, place: int | None, name: str) -> Any:
        if place is None:
            raise RuntimeError(f"SparsifyEnv: the array has no {name}.")
        return self._buffers[place]

    def data(self, spvalue: SparsifyValue) -> Any:
        """The values of an array; the array itself if it is dense."""
        return self._buffer(spvalue.data_ref, "data")

    def indices(self, spvalue: SparsifyValue) -> Any:
        """The indices of a sparse array."""
        return self._buffer(spvalue.indices_ref, "indices")

    def indptr(self, spvalue: SparsifyValue) -> Any:
        """Where the rows of a BCSR array start."""
        return self._buffer(spvalue.indptr_ref, "indptr")

    def dense(self, data: Any) -> SparsifyValue:
        """A dense array."""
        return SparsifyValue(tuple(np.shape(data)), self._push(data))

    def sparse(
        self,
        shape: Shape,
        data: Any = None,
        indices: Any = None,
        indptr: Any = None,
        *,
        data_ref: int | None = None,
        indices_ref: int | None = None,
        indptr_ref: int | None = None,
        indices_sorted: bool | None = False,
        unique_indices: bool | None = False,
    ) -> SparsifyValue:
        """A sparse array of new buffers, or of places of buffers."""
        if data is not None:
            data_ref = self._push(data)
        if indices is not None:
            indices_ref = self._push(indices)
        if indptr is not None:
            indptr_ref = self._push(indptr)
        if data_ref is None or indices_ref is None:
            raise ValueError("SparsifyEnv.sparse needs data and indices, or their places.")
        return SparsifyValue(
            tuple(shape), data_ref, indices_ref, indptr_ref, indices_sorted, unique_indices
        )


def is_sparse(x: Any) -> bool:
    """Whether ``sparsify`` takes an object as a sparse array."""
    return isinstance(x, (BCOO, BCSR))


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """A pytree of arrays as one of their places in an environment, which gets their buffers.

    Example:
        >>> from plugjax.experimental import sparse
        >>> from plugjax.experimental.sparse.transform import SparsifyEnv, arrays_to_spvalues
        >>> arrays_to_spvalues(SparsifyEnv(), sparse.eye(3)).indices_ref
        1
    """

    def value(x: Any) -> SparsifyValue:
        if not is_sparse(x):
            return spenv.dense(x)
        flags = {"indices_sorted": x.indices_sorted, "unique_indices": x.unique_indices}
        return spenv.sparse(x.shape, *x._bufs, **flags)

    return pytree.tree_map(value, args, is_leaf=is_sparse)


def _is_spvalue(x: Any) -> bool:
    return isinstance(x, SparsifyValue)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """The way back from :func:`arrays_to_spvalues`.

    Example:
        >>> from plugjax.experimental import sparse
        >>> from plugjax.experimental.sparse.transform import *
        >>> env = SparsifyEnv()
        >>> spvalues_to_arrays(env, arrays_to_spvalues(env, sparse.eye(3)))
        BCOO(float32[3, 3], nse=3)
    """

    def array(v: SparsifyValue) -> Any:
        if v.is_dense():
            return spenv.data(v)
        flags: Any = {"indices_sorted": v.indices_sorted, "unique_indices": v.unique_indices}
        buffers = (spenv.data(v), spenv.indices(v))
        if v.is_bcoo():
            return BCOO(buffers, shape=v.shape, **flags)
        return BCSR((*buffers, spenv.indptr(v)), shape=v.shape, **flags)

    return pytree.tree_map(array, spvalues, is_leaf=_is_spvalue)


def spvalues_to_avals(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """The avals of the arrays that values stand for.

    Example:
        >>> from plugjax.experimental import sparse
        >>> from plugjax.experimental.sparse.transform import *
        >>> env = SparsifyEnv()
        >>> spvalues_to_avals(env, arrays_to_spvalues(env, sparse.eye(3))).shape
        (3, 3)
    """

    def aval(v: SparsifyValue) -> ShapedArray:
        data = aval_of(spenv.data(v))
        return ShapedArray(v.shape, data.dtype, data.weak_type)

    return pytree.tree_map(aval, spvalues, is_leaf=_is_spvalue)
