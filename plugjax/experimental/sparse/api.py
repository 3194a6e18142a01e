"""Arrays of any sparse class: made, and made dense."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from plugjax import numpy as jnp
from plugjax.experimental.sparse import primitives
from plugjax.experimental.sparse.base import JAXSparse
from plugjax.experimental.sparse.bcoo import BCOO
from plugjax.experimental.sparse.bcsr import BCSR
from plugjax.experimental.sparse.coo import COO
from plugjax.experimental.sparse.csr import CSC, CSR
from plugjax.extend import pytree
from plugjax.extend.core import concrete_or_error

_FORMATS: dict[str, Any] = {"bcoo": BCOO, "bcsr": BCSR, "coo": COO, "csr": CSR, "csc": CSC}


def todense_buffers(*buffers: Any, tree: Any) -> list[Any]:
    """The dense array of a sparse one, or of a dense one."""
    found = pytree.unflatten(tree, buffers)
    return [found.todense() if isinstance(found, JAXSparse) else found]


def todense(arr: Any) -> Any:
    """A sparse array made dense; a dense one stays as it is. Under :func:`sparsify` too.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> sparse.sparsify(lambda x: jnp.cos(sparse.todense(x)))(sparse.eye(2))[0]
        Array([0.5403023, 1.       ], dtype=float32)
    """
    buffers, tree = pytree.flatten(arr)
    (found,) = primitives.todense_p.bind(*map(jnp.asarray, buffers), tree=tree)
    return found


def _format(name: str, formats: Sequence[str]) -> Any:
    if name not in formats:
        raise ValueError(f"sparse_format={name!r} not recognized; must be one of {list(formats)}.")
    return _FORMATS[name]


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:
    """A sparse array of zeros that stores nothing.

    Args:
        shape: of the array.
        dtype: float by default.
        index_dtype: dtype of the indices.
        sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
        **kwds: of BCOO and BCSR: ``n_batch``, ``n_dense``, ``nse``.

    Raises:
        ValueError: another format, or a shape that it does not have.

    Example:
        >>> from plugjax.experimental import sparse
        >>> sparse.empty((2, 3), nse=4)
        BCOO(float32[2, 3], nse=4)
    """
    cls = _format(sparse_format, tuple(_FORMATS))
    found: JAXSparse = cls._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)
    return found


def eye(
    N: int,  # noqa: N803  # NumPy's names
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:
    """A sparse matrix with ones on a diagonal.

    Args:
        N: number of rows.
        M: number of columns, ``N`` by default.
        k: the diagonal, above the main one if positive.
        dtype: float by default.
        index_dtype: dtype of the indices.
        sparse_format: ``"bcoo"``, ``"coo"``, ``"csr"`` or ``"csc"``.
        **kwds: of BCOO: ``n_batch``, ``n_dense``.

    Raises:
        ValueError: another format.

    Example:
        >>> from plugjax.experimental import sparse
        >>> sparse.eye(2, 3, k=1).indices
        Array([[0, 1],
               [1, 2]], dtype=int32)
    """
    sizes = (N, N if M is None else M, k)
    n, m, diagonal = (concrete_or_error(operator.index, x, "sparse.eye") for x in sizes)
    cls = _format(sparse_format, ("bcoo", "coo", "csr", "csc"))
    found: JAXSparse = cls._eye(N=n, M=m, k=diagonal, dtype=dtype, index_dtype=index_dtype, **kwds)
    return found
