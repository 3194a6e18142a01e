"""Joining arrays along an axis, and splitting them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array, Tracer
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.errors import OutArgumentError
from plugjax.lax import axes
from plugjax.numpy.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    canonical_axis,
    ravel,
    transpose,
)
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    as_operands,
    canonical_dtype,
    convert,
    join_dtypes,
)

__all__ = [
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit", "dstack", "hsplit", "hstack",
    "split", "stack", "unstack", "vsplit", "vstack",
]  # fmt: skip


def _joined(who: str, arrays: Any, dtype: DTypeLike | None) -> list[Array]:
    if isinstance(arrays, (Array, Tracer, np.ndarray)):
        if not arrays.ndim:
            raise TypeError(f"{who}: need a sequence of arrays, got a scalar")
        operands = list(as_operand(who, arrays))
    else:
        operands = as_operands(who, *arrays)
    if not operands:
        raise ValueError(f"{who}: Need at least one array, got none.")
    if dtype is not None:
        wanted, weak = canonical_dtype(who, dtype), False
    else:
        first = operands[0].aval
        if all(x.aval.dtype == first.dtype and not x.aval.weak_type for x in operands):
            return operands
        wanted, weak = join_dtypes(*operands)
    return [convert(x, wanted, weak) for x in operands]


def concatenate(
    arrays: Iterable[ArrayLike], axis: int | None = 0, dtype: DTypeLike | None = None
) -> Array:
    """Arrays joined along an axis that they have; ``axis=None`` joins them flattened.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.concatenate([jnp.arange(2), jnp.arange(2)])
        Array([0, 1, 0, 1], dtype=int32)
    """
    operands = _joined("concatenate", arrays, dtype)
    if axis is None:
        operands = [ravel(x) for x in operands]
        axis = 0
    if not operands[0].ndim:
        raise ValueError("concatenate: scalars have no axis to join along; use stack.")
    position = canonical_axis(axis, operands[0].ndim)
    return operands[0] if len(operands) == 1 else lax.concatenate(operands, position)


def concat(arrays: Iterable[ArrayLike], /, *, axis: int | None = 0) -> Array:
    """As :func:`concatenate` (array API).

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
        Array([1, 2, 3], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(
    arrays: Iterable[ArrayLike],
    axis: int = 0,
    out: None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Arrays of one shape joined along a new axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.stack([jnp.arange(2), jnp.arange(2)])
        Array([[0, 1],
               [0, 1]], dtype=int32)
    """
    if out is not None:
        raise OutArgumentError(
            "stack: 'out' cannot be written, since arrays are immutable. Use the result instead."
        )
    operands = _joined("stack", arrays, dtype)
    shape = operands[0].shape
    if any(x.shape != shape for x in operands):
        raise ValueError(
            f"stack: All input arrays must have the same shape, got {[x.shape for x in operands]}."
        )
    position = canonical_axis(axis, len(shape) + 1)
    return lax.concatenate([lax.expand_dims(x, (position,)) for x in operands], position)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices along an axis, without it.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]))
        (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = as_operand("unstack", x)
    if not x.ndim:
        raise ValueError("unstack: a scalar has no axis to cut along.")
    position = canonical_axis(axis, x.ndim)
    return tuple(lax.index_in_dim(x, i, position, keepdims=False) for i in range(x.shape[position]))


def vstack(tup: Iterable[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Arrays joined as rows.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
        Array([[1, 2],
               [3, 4]], dtype=int32)
    """
    return concatenate([atleast_2d(x) for x in tup], 0, dtype)


def hstack(tup: Iterable[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Arrays joined along the second axis; vectors end to end.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
        Array([1, 2, 3], dtype=int32)
    """
    parts = [atleast_1d(x) for x in tup]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype)


def dstack(tup: Iterable[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Arrays joined along the third axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.dstack([jnp.arange(2), jnp.arange(2)])
        Array([[[0, 0],
                [1, 1]]], dtype=int32)
    """
    return concatenate([atleast_3d(x) for x in tup], 2, dtype)


def column_stack(tup: Iterable[ArrayLike]) -> Array:
    """Vectors joined as columns of a matrix.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    parts = as_operands("column_stack", *tup)
    return concatenate([x if x.ndim > 1 else transpose(atleast_2d(x)) for x in parts], 1)


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """``values`` joined to the end of ``arr``; both flattened if ``axis`` is ``None``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.append(jnp.array([1, 2]), jnp.array([3]))
        Array([1, 2, 3], dtype=int32)
    """
    return concatenate(as_operands("append", arr, values), axis)


def block(arrays: Any) -> Array:
    """Nested lists of blocks joined to one array: the innermost along the last axis.

    Raises:
        ValueError: lists nested to different depths.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.block([[jnp.ones((1, 1)), jnp.zeros((1, 2))]])
        Array([[1., 0., 0.]], dtype=float32)
    """
    joined, _ = _block(arrays)
    return joined


def _block(arrays: Any) -> tuple[Array, int]:
    if isinstance(arrays, tuple):
        raise ValueError("block: nest lists of blocks; a tuple is neither a list nor a block.")
    if not isinstance(arrays, list):
        return as_operand("block", arrays), 1
    parts, depths = zip(*[_block(a) for a in arrays], strict=True)
    if len(set(depths)) > 1:
        raise ValueError(f"block: lists of different depths stand side by side: {depths}")
    depth = depths[0]
    rank = max(depth, *(x.ndim for x in parts))
    padded = [
        lax.expand_dims(x, tuple(range(rank - x.ndim))) if x.ndim < rank else x for x in parts
    ]
    return concatenate(padded, -depth), depth + 1


def split(
    ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int], axis: int = 0
) -> list[Array]:
    """The array cut into equal sections, or before the given indices.

    Raises:
        ValueError: the sections are not equal.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.split(jnp.arange(4), 2)
        [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(
    ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int], axis: int = 0
) -> list[Array]:
    """As :func:`split`; sections may differ by one element.

    Example:
        >>> import plugjax.numpy as jnp
        >>> [part.shape for part in jnp.array_split(jnp.arange(5), 2)]
        [(3,), (2,)]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int]) -> list[Array]:
    """:func:`split` along the first axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> [part.shape for part in jnp.vsplit(jnp.ones((4, 1)), 2)]
        [(2, 1), (2, 1)]
    """
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int]) -> list[Array]:
    """:func:`split` along the second axis; a vector's first.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.hsplit(jnp.arange(4), 2)
        [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    x = as_operand("hsplit", ary)
    return _split("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int]) -> list[Array]:
    """:func:`split` along the third axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> [part.shape for part in jnp.dsplit(jnp.ones((1, 2, 4)), 2)]
        [(1, 2, 2), (1, 2, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2)


def _split(who: str, ary: ArrayLike, sections: Any, axis: int) -> list[Array]:
    x = as_operand(who, ary)
    axis = canonical_axis(axis, x.ndim)
    size = x.shape[axis]
    if isinstance(sections, (tuple, list)) or getattr(sections, "ndim", 0) > 0:
        cuts = [0, *(axes.index(i) for i in sections), size]
        if any(low > high for low, high in itertools.pairwise(cuts)):
            raise ValueError(f"{who}: places to cut at rise from 0 to {size}, got {cuts[1:-1]}.")
    else:
        count = int(sections)
        if count < 1:
            raise ValueError(f"{who}: the number of parts is positive, got {count}.")
        part, rest = divmod(size, count)
        if rest and who != "array_split":
            raise ValueError(
                f"{who} does not result in an equal division: the rest is {rest}; use array_split."
            )
        cuts = [i * part + min(i, rest) for i in range(count + 1)]
    return [lax.slice_in_dim(x, low, high, axis=axis) for low, high in itertools.pairwise(cuts)]
