"""Reshaping, and reordering and adding axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from plugjax import lax
from plugjax.extend.backend import DeviceLike
from plugjax.extend.core import Array, reshape_p
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.errors import InconclusiveDimensionOperation, ShapeError, SizeError
from plugjax.extend.execution import eager_program
from plugjax.extend.meshes import ShardingLike
from plugjax.lax import axes
from plugjax.lax.axes import ShapeLike, static_sizes
from plugjax.lax.placement import freely, laid_out
from plugjax.lax.requested_dtypes import warn_caller
from plugjax.numpy.creation import array
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    as_operands,
    broadcast_shape,
    broadcast_to_shape,
    canonical_dtype,
)

__all__ = [
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to",
    "expand_dims", "flip", "fliplr", "flipud", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "reshape",
    "rollaxis", "rot90", "squeeze", "swapaxes", "transpose",
]  # fmt: skip


def canonical_axis(axis: int, rank: int) -> int:
    """``axis`` counted from the front.

    Raises:
        ValueError: the axis does not exist.
    """
    found = operator.index(axis)
    if not -rank <= found < rank:
        # Both a ValueError and an IndexError, as in NumPy.
        raise np.exceptions.AxisError(found, rank)
    return found + rank if found < 0 else found


def axis_tuple(axis: Any) -> tuple[Any, ...]:
    """One axis or several as a tuple; several are all that can be iterated over."""
    if isinstance(axis, (np.ndarray, Array)):
        return tuple(axis) if axis.ndim == 1 else (axis,)
    if isinstance(axis, str) or not hasattr(axis, "__iter__"):
        return (axis,)
    return tuple(axis)


def canonical_axes(axis: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One axis or a sequence of them, counted from the front. For what takes any iterable, see :func:`axis_tuple`.

    Raises:
        ValueError: an axis does not exist, or repeats.
    """
    is_sequence = isinstance(axis, (tuple, list, range, np.ndarray))
    axes = axis_tuple(axis) if is_sequence else (axis,)
    found = tuple(canonical_axis(a, rank) for a in axes)
    if len(set(found)) != len(found):
        raise ValueError(f"duplicate value in 'axis': {axes}.")
    return found


def _sizes(x: Array, newshape: Any) -> tuple[int, ...]:
    if isinstance(newshape, (int, np.integer)) or not hasattr(newshape, "__iter__"):
        newshape = (newshape,)
    given = tuple(newshape)
    try:
        sizes = tuple(map(operator.index, given))
    except TypeError:
        sizes = tuple(map(axes.index, given))
    if -1 not in sizes:
        if math.prod(sizes) != x.size:
            raise SizeError(
                f"reshape: cannot reshape array of shape {x.shape}, which has {x.size} elements, into {sizes}, which takes {math.prod(sizes)}."
            )
        return sizes
    known = -math.prod(sizes)
    if sizes.count(-1) > 1 or any(n < -1 for n in sizes):
        raise SizeError(
            f"reshape: can only specify one unknown axis size, by -1, and no negative one, got {sizes}"
        )
    if axes.is_symbolic(x.size % known if known != 0 else 0):
        raise InconclusiveDimensionOperation(
            f"reshape: Cannot divide evenly the sizes of shapes {x.shape} and {sizes}: whether {known} divides {x.size} "
            "depends on sizes that are not known. Constrain them, or write the shape with a factor: '3*n'."
        )
    if known == 0 or x.size % known:
        raise SizeError(
            f"reshape: shape {x.shape} has {x.size} elements, which shape {sizes} cannot take: "
            f"its known sizes give {known}."
        )
    return tuple(x.size // known if n == -1 else n for n in sizes)


def reshape(
    a: ArrayLike,
    shape: ShapeLike,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: ShardingLike | None = None,
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
        return laid_out(
            "reshape", freely(reshape, a=a, shape=shape, order=order, copy=copy), out_sharding
        )
    x = as_operand("reshape", a)
    sizes = _sizes(x, shape)
    if order == "C":
        return reshape_p.bind(x, new_sizes=sizes) if sizes != x.shape else x
    if order == "F":
        flipped = lax.reshape(transpose(x), sizes[::-1])
        return transpose(flipped)
    raise ValueError(f"reshape and ravel know order 'C' and 'F', got {order}.")


@eager_program(1)
def ravel(a: ArrayLike, order: str = "C", *, out_sharding: ShardingLike | None = None) -> Array:
    """All elements in one axis.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
        Array([1, 2, 3, 4], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out("ravel", freely(ravel, a=a, order=order), out_sharding)
    x = as_operand("ravel", a)
    if order == "K":
        raise NotImplementedError("ravel: order='K' is not available; use 'C' or 'F'.")
    return reshape(x, (x.size,), order)


@eager_program(1)
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Axes in another order; reversed by default.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.transpose(jnp.array([[1, 2, 3]]))
        Array([[1],
               [2],
               [3]], dtype=int32)
    """
    x = as_operand("transpose", a)
    if axes is None:
        return lax.transpose(x, tuple(range(x.ndim - 1, -1, -1)))
    order = tuple(canonical_axis(axis, x.ndim) for axis in axes)
    if sorted(order) != list(range(x.ndim)):
        raise TypeError(
            f"transpose permutation isn't a permutation of the axes: got {tuple(axes)} for shape {x.shape}"
        )
    return lax.transpose(x, order)


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """:func:`transpose` of the array API: all axes in a given order.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.permute_dims(jnp.array([[1, 2, 3]]), (1, 0))
        Array([[1],
               [2],
               [3]], dtype=int32)
    """
    x = as_operand("permute_dims", a)
    if sorted(axes) != list(range(x.ndim)):
        raise ShapeError(
            f"permute_dims: {axes} is no permutation of the axes of {x.aval.str_short()}."
        )
    return transpose(x, axes)


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
        >>> jnp.moveaxis(jnp.array([[1, 2, 3]]), 0, -1)
        Array([[1],
               [2],
               [3]], dtype=int32)
    """
    x = as_operand("moveaxis", a)
    moved = canonical_axes(axis_tuple(source), x.ndim)
    targets = canonical_axes(axis_tuple(destination), x.ndim)
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
        >>> jnp.rollaxis(jnp.array([[1, 2, 3]]), 1)
        Array([[1],
               [2],
               [3]], dtype=int32)
    """
    x = as_operand("rollaxis", a)
    axis = canonical_axis(axis, x.ndim)
    if not -x.ndim <= start <= x.ndim:
        raise ValueError(f"rollaxis: start={start} does not lie from {-x.ndim} to {x.ndim}.")
    start = start + x.ndim if start < 0 else start
    return moveaxis(x, axis, start - 1 if start > axis else start)


def _single_axis(axis: Any, rank: int) -> int:
    """The one axis that is meant, alone or in a tuple of one, counted from the front."""
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) != 1 or isinstance(axes[0], bool) or not hasattr(axes[0], "__index__"):
        raise np.exceptions.AxisError(f"swapaxes: an axis is a number, got {axis!r}.")
    return canonical_axis(axes[0], rank)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Two axes exchanged.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.swapaxes(jnp.array([[1, 2, 3]]), 0, 1)
        Array([[1],
               [2],
               [3]], dtype=int32)
    """
    x = as_operand("swapaxes", a)
    order = list(range(x.ndim))
    i, j = (_single_axis(axis, x.ndim) for axis in (axis1, axis2))
    order[i], order[j] = order[j], order[i]
    return lax.transpose(x, tuple(order))


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """New axes of size 1 at the given positions of the result.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.expand_dims(jnp.arange(3), 0)
        Array([[0, 1, 2]], dtype=int32)
    """
    x = as_operand("expand_dims", a)
    return lax.expand_dims(x, tuple(operator.index(a) for a in axis_tuple(axis)))


def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Without the given axes of size 1; by default without all of them.

    Raises:
        ValueError: a given axis has another size.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.squeeze(jnp.array([[[1], [2]]]))
        Array([1, 2], dtype=int32)
    """
    x = as_operand("squeeze", a)
    if axis is None:
        axes = tuple(i for i, n in enumerate(x.shape) if n == 1)
    else:
        axes = canonical_axes(axis_tuple(axis), x.ndim)
        if any(x.shape[i] != 1 for i in axes):
            raise ValueError(
                f"squeeze: cannot select an axis to squeeze out of {axes} of shape {x.shape}: not all of them have size 1."
            )
    return lax.squeeze(x, axes) if axes else x


def broadcast_to(
    array: ArrayLike, shape: int | Sequence[int], *, out_sharding: ShardingLike | None = None
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
        return laid_out(
            "broadcast_to", freely(broadcast_to, array=array, shape=shape), out_sharding
        )
    x = as_operand("broadcast_to", array)
    sizes = (shape,) if not hasattr(shape, "__iter__") else shape
    return broadcast_to_shape("broadcast_to", x, tuple(axes.index(n) for n in sizes))


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
    for shape in sizes:
        static_sizes("broadcast_shapes", shape)
    if any(isinstance(s, dict) for s in shapes):
        raise ShapeError(f"broadcast_shapes: shapes are sequences of sizes, got {shapes}.")
    return broadcast_shape("broadcast_shapes", *sizes)


@overload
def atleast_1d(arys: ArrayLike, /) -> Array: ...


@overload
def atleast_1d(*arys: ArrayLike) -> list[Array]: ...


def atleast_1d(*arys: ArrayLike) -> Any:
    """Arrays with one axis or more.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.atleast_1d(jnp.float32(1))
        Array([1.], dtype=float32)
    """
    return _at_least("atleast_1d", arys, lambda x: lax.reshape(x, (1,)) if not x.ndim else x)


@overload
def atleast_2d(arys: ArrayLike, /) -> Array: ...


@overload
def atleast_2d(*arys: ArrayLike) -> list[Array]: ...


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


@overload
def atleast_3d(arys: ArrayLike, /) -> Array: ...


@overload
def atleast_3d(*arys: ArrayLike) -> list[Array]: ...


def atleast_3d(*arys: ArrayLike) -> Any:
    """Arrays with three axes or more; a vector becomes ``[1, n, 1]``, a matrix ``[m, n, 1]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.atleast_3d(jnp.arange(2))
        Array([[[0],
                [1]]], dtype=int32)
    """
    new: dict[int, tuple[int, ...]] = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _at_least(
        "atleast_3d", arys, lambda x: lax.expand_dims(x, new[x.ndim]) if x.ndim < 3 else x
    )


def _at_least(who: str, arys: Sequence[ArrayLike], widen: Any) -> Any:
    found = [widen(x) for x in as_operands(who, *arys)]
    return found[0] if len(found) == 1 else found


def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Elements in reverse order along axes; along all of them by default.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.flip(jnp.array([1, 2, 3]))
        Array([3, 2, 1], dtype=int32)
    """
    x = as_operand("flip", m)
    axes = range(x.ndim) if axis is None else axis_tuple(axis)
    # lax.rev refuses an axis that comes twice.
    return lax.rev(x, tuple(canonical_axis(a, x.ndim) for a in axes))


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
    one, other = axes
    first, second = canonical_axes((one, other), x.ndim)
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


def astype(
    x: ArrayLike,
    dtype: DTypeLike | None,
    /,
    *,
    copy: bool = False,
    device: DeviceLike | None = None,
) -> Array:
    """The array with another dtype.

    Differs from NumPy:
        Floats beyond an integer's range become its limits.

    Warns:
        DeprecationWarning: a complex array loses its imaginary part.

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
        if x.dtype.kind == "c" and wanted.kind != "c":
            warn_caller(
                "Casting from complex to real dtypes discards the imaginary part. Take jnp.real(x) or jnp.imag(x) first.",
                DeprecationWarning,
            )
        found = lax.convert_element_type_p.bind(x, new_dtype=wanted, weak_type=False)
    return found if device is None else found.to_device(device)
