"""Changing shapes: reshaping, reordering and adding axes, joining and splitting."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.core.array import Array
from plugjax.core.device import reject_sharding
from plugjax.core.dtypes import DTypeLike
from plugjax.core.eager_functions import remembered
from plugjax.core.trace import Tracer
from plugjax.core.vocabulary import reshape_p
from plugjax.numpy.creation import array
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    as_operands,
    broadcast_shape,
    broadcast_to_shape,
    canonical_dtype,
    convert,
    join_dtypes,
)

__all__ = [
    "append", "array_split", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "column_stack", "concat", "concatenate", "dsplit", "dstack", "expand_dims",
    "flip", "fliplr", "flipud", "hsplit", "hstack", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "reshape",
    "rollaxis", "rot90", "split", "squeeze", "stack", "swapaxes", "transpose", "unstack", "vsplit", "vstack",
]  # fmt: skip


def canonical_axis(axis: int, rank: int) -> int:
    """``axis`` counted from the front.

    Raises:
        ValueError: there is no such axis.
    """
    found = operator.index(axis)
    if not -rank <= found < rank:
        # A ValueError and an IndexError at once, as in NumPy.
        raise np.exceptions.AxisError(found, rank)
    return found + rank if found < 0 else found


def canonical_axes(axis: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One axis or several, counted from the front.

    Raises:
        ValueError: an axis does not exist, or comes twice.
    """
    axes = (axis,) if not isinstance(axis, (tuple, list, range)) else axis
    found = tuple(canonical_axis(a, rank) for a in axes)
    if len(set(found)) != len(found):
        raise ValueError(f"an axis comes twice in {tuple(axes)}.")
    return found


def _sizes(x: Array, newshape: Any) -> tuple[int, ...]:
    if isinstance(newshape, (int, np.integer)) or not hasattr(newshape, "__iter__"):
        newshape = (newshape,)
    sizes = tuple(operator.index(n) for n in newshape)
    if -1 not in sizes:
        if math.prod(sizes) != x.size:
            raise TypeError(
                f"reshape: shape {x.shape} has {x.size} elements, shape {sizes} takes {math.prod(sizes)}."
            )
        return sizes
    known = -math.prod(sizes)
    if sizes.count(-1) > 1 or any(n < -1 for n in sizes):
        raise TypeError(f"reshape: one size may be -1, the others not be negative, got {sizes}")
    if known == 0 or x.size % known:
        raise TypeError(
            f"reshape: shape {x.shape} has {x.size} elements, which shape {sizes} cannot take: "
            f"its known sizes give {known}."
        )
    return tuple(x.size // known if n == -1 else n for n in sizes)


def reshape(
    a: ArrayLike,
    shape: Any,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: None = None,
) -> Array:
    """The same elements in another shape; one size may be -1.

    Raises:
        TypeError: the sizes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.reshape(jnp.arange(4), (2, -1))
        Array([[0, 1],
               [2, 3]], dtype=int32)
    """
    if out_sharding is not None:
        reject_sharding("reshape", out_sharding)
    x = as_operand("reshape", a)
    sizes = _sizes(x, shape)
    if order == "C":
        return reshape_p.bind(x, new_sizes=sizes) if sizes != x.shape else x
    if order == "F":
        flipped = lax.reshape(transpose(x), sizes[::-1])
        return transpose(flipped)
    raise ValueError(f"reshape and ravel know order 'C' and 'F', got {order}.")


@remembered(1)
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: None = None) -> Array:
    """All elements in one axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
        Array([1, 2, 3, 4], dtype=int32)
    """
    if out_sharding is not None:
        reject_sharding("ravel", out_sharding)
    x = as_operand("ravel", a)
    if order == "K":
        raise NotImplementedError("ravel: order='K' is not available; use 'C' or 'F'.")
    return reshape(x, (x.size,), order)


@remembered(1)
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Axes in another order; reversed by default.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.transpose(jnp.zeros((2, 3))).shape
        (3, 2)
    """
    x = as_operand("transpose", a)
    if axes is None:
        return lax.transpose(x, tuple(range(x.ndim - 1, -1, -1)))
    order = tuple(canonical_axis(axis, x.ndim) for axis in axes)
    if sorted(order) != list(range(x.ndim)):
        raise TypeError(
            f"transpose: axes must be a permutation of the array's, got {tuple(axes)} for shape {x.shape}"
        )
    return lax.transpose(x, order)


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """The axes in another order, all of which are named: :func:`transpose` of the array API.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.permute_dims(jnp.ones((2, 3)), (1, 0)).shape
        (3, 2)
    """
    return transpose(a, axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """The last two axes exchanged.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.matrix_transpose(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    x = as_operand("matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose takes matrices, two axes or more, got ndim={x.ndim}")
    return swapaxes(x, -1, -2)


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Axes moved to other positions; the others keep their order.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    x = as_operand("moveaxis", a)
    moved, targets = canonical_axes(source, x.ndim), canonical_axes(destination, x.ndim)
    if len(moved) != len(targets):
        raise ValueError(f"moveaxis: {len(moved)} axes have {len(targets)} destinations.")
    order = [axis for axis in range(x.ndim) if axis not in moved]
    for target, axis in sorted(zip(targets, moved, strict=True)):
        order.insert(target, axis)
    return lax.transpose(x, tuple(order))


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """One axis moved before position ``start``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
        (4, 2, 3)
    """
    x = as_operand("rollaxis", a)
    axis = canonical_axis(axis, x.ndim)
    if not -x.ndim <= start <= x.ndim:
        raise ValueError(f"rollaxis: start={start} does not lie from {-x.ndim} to {x.ndim}.")
    start = start + x.ndim if start < 0 else start
    return moveaxis(x, axis, start - 1 if start > axis else start)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Two axes exchanged.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
    """
    x = as_operand("swapaxes", a)
    order = list(range(x.ndim))
    i, j = canonical_axis(axis1, x.ndim), canonical_axis(axis2, x.ndim)
    order[i], order[j] = order[j], order[i]
    return lax.transpose(x, tuple(order))


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """New axes of size 1 at the given positions of the result.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.expand_dims(jnp.zeros(3), 0).shape
        (1, 3)
    """
    x = as_operand("expand_dims", a)
    return lax.expand_dims(x, axis if isinstance(axis, (tuple, list, range)) else (axis,))


def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Without the given axes of size 1; by default without all of them.

    Raises:
        ValueError: a given axis has another size.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.squeeze(jnp.ones((1, 2, 1))).shape
        (2,)
    """
    x = as_operand("squeeze", a)
    if axis is None:
        axes = tuple(i for i, n in enumerate(x.shape) if n == 1)
    else:
        axes = canonical_axes(axis, x.ndim)
        if any(x.shape[i] != 1 for i in axes):
            raise ValueError(f"squeeze: axes {axes} of shape {x.shape} do not all have size 1.")
    return lax.squeeze(x, axes) if axes else x


def broadcast_to(
    array: ArrayLike, shape: int | Sequence[int], *, out_sharding: None = None
) -> Array:
    """The array repeated along new axes and axes of size 1.

    Raises:
        ValueError: it does not broadcast to ``shape``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.broadcast_to(jnp.arange(2), (2, 2))
        Array([[0, 1],
               [0, 1]], dtype=int32)
    """
    if out_sharding is not None:
        reject_sharding("broadcast_to", out_sharding)
    x = as_operand("broadcast_to", array)
    sizes = (shape,) if not hasattr(shape, "__iter__") else shape
    return broadcast_to_shape("broadcast_to", x, tuple(operator.index(n) for n in sizes))


def broadcast_arrays(*args: ArrayLike) -> list[Array]:
    """Arrays broadcast to one shape.

    Example:
        >>> import plugjax.numpy as jnp
        >>> [x.shape for x in jnp.broadcast_arrays(jnp.ones((2, 1)), jnp.ones(3))]
        [(2, 3), (2, 3)]
    """
    operands = as_operands("broadcast_arrays", *args)
    shape = broadcast_shape("broadcast_arrays", *[x.shape for x in operands])
    return [broadcast_to_shape("broadcast_arrays", x, shape) for x in operands]


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the given shapes broadcast to.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    return broadcast_shape("broadcast_shapes", *sizes)


def atleast_1d(*arys: ArrayLike) -> Any:
    """Arrays with one axis or more.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.atleast_1d(jnp.float32(1))
        Array([1.], dtype=float32)
    """
    return _at_least("atleast_1d", arys, lambda x: lax.reshape(x, (1,)) if not x.ndim else x)


def atleast_2d(*arys: ArrayLike) -> Any:
    """Arrays with two axes or more; new ones come first.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.atleast_2d(jnp.arange(2))
        Array([[0, 1]], dtype=int32)
    """
    return _at_least(
        "atleast_2d",
        arys,
        lambda x: lax.expand_dims(x, tuple(range(2 - x.ndim))) if x.ndim < 2 else x,
    )


def atleast_3d(*arys: ArrayLike) -> Any:
    """Arrays with three axes or more; a vector becomes ``[1, n, 1]``, a matrix ``[m, n, 1]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.atleast_3d(jnp.arange(2)).shape
        (1, 2, 1)
    """
    new: dict[int, tuple[int, ...]] = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _at_least(
        "atleast_3d", arys, lambda x: lax.expand_dims(x, new[x.ndim]) if x.ndim < 3 else x
    )


def _at_least(who: str, arys: Sequence[ArrayLike], widen: Any) -> Any:
    found = [widen(x) for x in as_operands(who, *arys)]
    return found[0] if len(found) == 1 else found


def _joined(who: str, arrays: Any, dtype: DTypeLike | None) -> list[Array]:
    if isinstance(arrays, (Array, Tracer, np.ndarray)):
        if not arrays.ndim:
            raise TypeError(f"{who}: need a sequence of arrays, got a scalar")
        operands = list(as_operand(who, arrays))
    else:
        operands = as_operands(who, *arrays)
    if not operands:
        raise ValueError(f"{who}: no arrays came.")
    if dtype is not None:
        wanted, weak = canonical_dtype(who, dtype), False
    else:
        first = operands[0].aval
        if all(x.aval.dtype is first.dtype and not x.aval.weak_type for x in operands):
            return operands
        wanted, weak = join_dtypes(*operands)
    return [convert(x, wanted, weak) for x in operands]


def concatenate(arrays: Any, axis: int | None = 0, dtype: DTypeLike | None = None) -> Array:
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


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """As :func:`concatenate` (array API).

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
        Array([1, 2, 3], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: DTypeLike | None = None) -> Array:
    """Arrays of one shape joined along a new axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.stack([jnp.arange(2), jnp.arange(2)])
        Array([[0, 1],
               [0, 1]], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError(
            "stack: 'out' cannot be written, since arrays are immutable. Use the result instead."
        )
    operands = _joined("stack", arrays, dtype)
    shape = operands[0].shape
    if any(x.shape != shape for x in operands):
        raise ValueError(f"stack: the arrays differ in shape: {[x.shape for x in operands]}")
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


def vstack(tup: Any, dtype: DTypeLike | None = None) -> Array:
    """Arrays joined as rows.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
        Array([[1, 2],
               [3, 4]], dtype=int32)
    """
    return concatenate([atleast_2d(x) for x in tup], 0, dtype)


def hstack(tup: Any, dtype: DTypeLike | None = None) -> Array:
    """Arrays joined as columns; vectors end to end.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
        Array([1, 2, 3], dtype=int32)
    """
    parts = [atleast_1d(x) for x in tup]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: DTypeLike | None = None) -> Array:
    """Arrays joined along the third axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.dstack([jnp.arange(2), jnp.arange(2)])
        Array([[[0, 0],
                [1, 1]]], dtype=int32)
    """
    return concatenate([atleast_3d(x) for x in tup], 2, dtype)


def column_stack(tup: Any) -> Array:
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
        raise TypeError("block: nest lists of blocks; a tuple is neither a list nor a block.")
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


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """The array cut into equal sections, or before the given indices.

    Raises:
        ValueError: the sections are not equal.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.split(jnp.arange(4), 2)
        [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """As :func:`split`; sections may differ by one element.

    Example:
        >>> import plugjax.numpy as jnp
        >>> [part.shape for part in jnp.array_split(jnp.arange(5), 2)]
        [(3,), (2,)]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """:func:`split` along the first axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> [part.shape for part in jnp.vsplit(jnp.ones((4, 1)), 2)]
        [(2, 1), (2, 1)]
    """
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
    """:func:`split` along the second axis; a vector's first.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.hsplit(jnp.arange(4), 2)
        [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    x = as_operand("hsplit", ary)
    return _split("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Array]:
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
        cuts = [0, *(operator.index(i) for i in sections), size]
        if any(low > high for low, high in itertools.pairwise(cuts)):
            raise ValueError(f"{who}: places to cut at rise from 0 to {size}, got {cuts[1:-1]}.")
    else:
        count = operator.index(sections)
        part, rest = divmod(size, count)
        if rest and who != "array_split":
            raise ValueError(f"{who}: equal parts leave a rest of {rest}; use array_split.")
        cuts = [i * part + min(i, rest) for i in range(count + 1)]
    return [lax.slice_in_dim(x, low, high, axis=axis) for low, high in itertools.pairwise(cuts)]


def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Elements in reverse order along axes; along all of them by default.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.flip(jnp.array([1, 2, 3]))
        Array([3, 2, 1], dtype=int32)
    """
    x = as_operand("flip", m)
    return lax.rev(x, tuple(range(x.ndim)) if axis is None else canonical_axes(axis, x.ndim))


def flipud(m: ArrayLike) -> Array:
    """Reversed along the first axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
        Array([[3, 4],
               [1, 2]], dtype=int32)
    """
    return flip(m, 0)


def fliplr(m: ArrayLike) -> Array:
    """Reversed along the second axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
        Array([[2, 1],
               [4, 3]], dtype=int32)
    """
    return flip(m, 1)


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Turned by ``k`` quarter turns in the plane of two axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
        Array([[2, 4],
               [1, 3]], dtype=int32)
    """
    x = as_operand("rot90", m)
    first, second = canonical_axes(axes, x.ndim)
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


def astype(
    x: ArrayLike, dtype: DTypeLike | None, /, *, copy: bool = False, device: Any = None
) -> Array:
    """The array with another dtype.

    Differs from NumPy:
        A complex array loses its imaginary part silently; floats beyond an integer's range become its limits.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.astype(jnp.array([1.7, -1.7]), int)
        Array([ 1, -1], dtype=int32)
    """
    x = as_operand("astype", x)
    wanted = canonical_dtype("astype", dtype)
    if x.dtype == wanted and not x.weak_type:
        found = array(x) if copy else x
    elif wanted.kind == "b" and x.dtype.kind != "b":
        found = lax.ne(x, x.dtype.type(0))
    else:
        found = lax.convert_element_type_p.bind(x, new_dtype=wanted, weak_type=False)
    return found if device is None else found.to_device(device)
