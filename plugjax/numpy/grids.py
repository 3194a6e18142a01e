"""Grids and matrices laid out from vectors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from plugjax import lax
from plugjax.extend.backend import DeviceLike
from plugjax.extend.core import Array, aval_of, from_host
from plugjax.extend.dtypes import DTypeLike
from plugjax.lax import axes
from plugjax.numpy.creation import asarray, ones
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    as_operands,
    broadcast_to_shape,
    canonical_dtype,
    check_arraylike,
    pick,
    scalar,
)

__all__ = [
    "diag", "diag_indices", "diag_indices_from", "diagflat", "from_dlpack", "frombuffer", "fromfunction", "indices",
    "mask_indices", "meshgrid", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "vander",
]  # fmt: skip


def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Array]:
    """Coordinate arrays of the grid that vectors span; ``indexing="ij"`` keeps the order of axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.meshgrid(jnp.arange(2), jnp.arange(2), indexing="ij")[0]
        Array([[0, 0],
               [1, 1]], dtype=int32)
    """
    vectors = as_operands("meshgrid", *xi)
    if not copy:
        raise ValueError("meshgrid: copy=False is not possible; leave it out.")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', got {indexing}")
    if any(v.ndim != 1 for v in vectors):
        raise ValueError("meshgrid takes vectors, got shapes " + str([v.shape for v in vectors]))
    axes = list(range(len(vectors)))
    if indexing == "xy" and len(axes) >= 2:
        axes[0], axes[1] = 1, 0
    sizes = [1] * len(axes)
    for axis, v in zip(axes, vectors, strict=True):
        sizes[axis] = v.shape[0]
    grids = []
    for axis, v in zip(axes, vectors, strict=True):
        shape = tuple(size if i == axis else 1 for i, size in enumerate(sizes))
        thin = lax.broadcast_in_dim(v, shape, (axis,))
        grids.append(thin if sparse else broadcast_to_shape("meshgrid", thin, tuple(sizes)))
    return grids


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: Literal[False] = False
) -> Array: ...


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, *, sparse: Literal[True]
) -> tuple[Array, ...]: ...


def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Any:
    """Index arrays of a grid: one per axis, stacked, or thin ones if ``sparse``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.indices((2, 2))[0]
        Array([[0, 0],
               [1, 1]], dtype=int32)
    """
    wanted = canonical_dtype("indices", int if dtype is None else dtype)
    shape = tuple(axes.index(d) for d in dimensions)
    if sparse:
        thin = [
            tuple(n if i == axis else 1 for i in range(len(shape))) for axis, n in enumerate(shape)
        ]
        return tuple(lax.broadcasted_iota(wanted, s, axis) for axis, s in enumerate(thin))
    if not shape:
        return lax.full((0,), wanted.type(0))
    layers = [lax.broadcasted_iota(wanted, (1, *shape), axis + 1) for axis in range(len(shape))]
    return lax.concatenate(layers, 0)


def diag(v: ArrayLike, k: int = 0) -> Array:
    """The ``k``-th diagonal of a matrix, or the matrix with a vector on it.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.diag(jnp.array([1, 2]))
        Array([[1, 0],
               [0, 2]], dtype=int32)
    """
    v = as_operand("diag", v)
    k = operator.index(k)
    if v.ndim == 1:
        size = v.shape[0] + abs(k)
        padded = lax.pad(v, scalar(0, v), [(max(0, k), max(0, -k), 0)])
        rows, columns = (lax.broadcasted_iota(np.int32, (size, size), axis) for axis in (0, 1))
        on = lax.eq(lax.add(rows, np.int32(k)), columns)
        return pick(on, lax.broadcast_in_dim(padded, (size, size), (1,)), scalar(0, v))
    if v.ndim == 2:
        return v.diagonal(k)
    raise ValueError(f"diag takes a vector or a matrix, got {v.aval.str_short()}")


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with the flattened input on its ``k``-th diagonal.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.diagflat(jnp.array([1, 2]))
        Array([[1, 0],
               [0, 2]], dtype=int32)
    """
    v = as_operand("diagflat", v)
    return diag(lax.reshape(v, (v.size,)), k)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array with ``ndim`` axes of size ``n``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.diag_indices(3)
        (Array([0, 1, 2], dtype=int32), Array([0, 1, 2], dtype=int32))
    """
    n, ndim = operator.index(n), operator.index(ndim)
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices needs n >= 0 and ndim >= 0, got {n} and {ndim}")
    return (lax.iota(canonical_dtype("diag_indices", int), n),) * ndim


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Indices of the lower triangle of a matrix, diagonal ``k`` included.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.tril_indices(2)
        (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _triangle(np.tril_indices, n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Indices of the upper triangle of a matrix, diagonal ``k`` included.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.triu_indices(2)
        (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _triangle(np.triu_indices, n, k, m)


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array whose axes all have one size.

    Raises:
        ValueError: fewer than two axes, or axes of different sizes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.diag_indices_from(jnp.zeros((2, 2)))
        (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    check_arraylike("diag_indices_from", arr)
    shape = aval_of(arr, "diag_indices_from").shape
    if len(shape) < 2:
        raise ValueError(f"diag_indices_from takes an array of two axes or more, got shape {shape}")
    if len(set(shape)) != 1:
        raise ValueError(f"diag_indices_from: all axes have one size, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def _matrix_shape(arr: Any) -> tuple[int, int]:
    check_arraylike("tril_indices_from or triu_indices_from", arr)
    rows_columns = aval_of(arr, "tril_indices_from or triu_indices_from").shape
    if len(rows_columns) != 2:
        raise ValueError("tril_indices_from and triu_indices_from take a matrix.")
    return rows_columns


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Indices of the lower triangle of a given matrix, diagonal ``k`` included.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.tril_indices_from(jnp.ones((2, 2)))
        (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Indices of the upper triangle of a given matrix, diagonal ``k`` included.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.triu_indices_from(jnp.ones((2, 2)))
        (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k, columns)


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: int = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """Indices where ``mask_func(ones((n, n)), k)`` is not zero; ``size`` makes the number of indices static.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.mask_indices(2, jnp.triu)
        (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    found = mask_func(ones((n, n)), k)
    check_arraylike("mask_indices", found)
    rows, columns = asarray(found).nonzero(size=size)
    return rows, columns


def _triangle(positions: Callable[..., Any], n: int, k: int, m: int | None) -> tuple[Array, Array]:
    sizes = operator.index(n), operator.index(k), None if m is None else operator.index(m)
    wanted = canonical_dtype("indices", int)
    rows, columns = (from_host(np.asarray(part, wanted)) for part in positions(*sizes))
    return rows, columns


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Matrix of powers of a vector, one per column.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.vander(jnp.array([1, 2, 3]), 2)
        Array([[1, 1],
               [2, 1],
               [3, 1]], dtype=int32)
    """
    x = as_operand("vander", x)
    if x.ndim != 1:
        raise ValueError(f"vander takes a vector, got shape {x.shape}")
    count = x.shape[0] if N is None else operator.index(N)
    exponents = range(count) if increasing else range(count - 1, -1, -1)
    columns = [
        lax.expand_dims(lax.integer_pow(x, e) if e else lax.full_like(x, 1), (1,))
        for e in exponents
    ]
    return lax.concatenate(columns, 1) if columns else lax.full((x.shape[0], 0), scalar(0, x))


def fromfunction(
    function: Callable[..., Any], shape: Sequence[int], *, dtype: DTypeLike = float, **kwargs: Any
) -> Any:
    """``function`` applied to the index arrays of a grid.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
        Array([[0, 1],
               [1, 2]], dtype=int32)
    """
    grids = indices(shape, dtype)
    return function(
        *(lax.index_in_dim(grids, i, keepdims=False) for i in range(len(tuple(shape)))), **kwargs
    )


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """A vector from an object with the buffer protocol.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.frombuffer(bytes([1, 2]), "uint8")
        Array([1, 2], dtype=uint8)
    """
    wanted: Any = np.dtype(dtype)  # type: ignore[arg-type]  # NumPy's stubs name each string
    return asarray(np.frombuffer(buffer, wanted, count, offset))


def from_dlpack(x: Any, /, *, device: DeviceLike | None = None, copy: bool | None = None) -> Array:
    """An array from another library's, by the DLPack protocol.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.from_dlpack(jnp.arange(2))
        Array([0, 1], dtype=int32)
    """
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            f"from_dlpack needs an array with __dlpack__, got {type(x)}. Use asarray for other values."
        )
    if copy not in (None, True, False):
        raise TypeError(f"from_dlpack: copy is True, False or None, got {copy!r}.")
    return asarray(np.from_dlpack(x), copy=copy, device=device)
