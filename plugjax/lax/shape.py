"""Primitives that rearrange elements: reshape, transposition, broadcasting; and iota."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Sharding,
    as_array,
    aval_of,
    broadcast_in_dim_p,
    device_put,
    moveaxis,
    reduce_sum_p,
    reshape_p,
    state,
    transpose_p,
)
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import DtypeError, ShapeError, SizeError
from plugjax.extend.meshes import ShardingLike, retyped
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    jvp_rule,
    physical_rule,
    printed_rule,
)
from plugjax.extend.transforms import Axis, converted
from plugjax.lax.axes import (
    canonical_axes,
    check_axes,
    is_symbolic,
    past,
    static_ints,
    static_sizes,
)
from plugjax.lax.families import convert, linear
from plugjax.lax.joining import (
    concatenate as concatenate,
    concatenate_p as concatenate_p,
    pad as pad,
    pad_p as pad_p,
    split as split,
    split_p as split_p,
)
from plugjax.lax.placement import freely, laid_out
from plugjax.lax.promotion import content
from plugjax.lax.requested_dtypes import canonical_dtype

rules = RuleSet(__name__)

squeeze_p = Primitive("squeeze")
rev_p = Primitive("rev")
iota_p = Primitive("iota")


def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The elements in row-major order, in another shape.

    Shapes:
        operand: ``[...]`` -> ``new_sizes``, of the same number of elements.

    Args:
        operand: the array.
        new_sizes: the shape; ``-1`` is left to ``plugjax.numpy.reshape``.
        dimensions: order in which the axes are read, outermost first.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.reshape(jnp.arange(4), (2, 2))
        Array([[0, 1],
               [2, 3]], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "reshape",
            freely(reshape, operand=operand, new_sizes=new_sizes, dimensions=dimensions),
            out_sharding,
        )
    sizes = static_sizes("reshape", new_sizes)
    if dimensions is not None:
        one_axis = np.ndim(dimensions) == 0 and hasattr(dimensions, "__index__")
        axes = (dimensions,) if one_axis else dimensions
        order = static_ints("reshape", "dimensions", axes)
        if order != tuple(range(aval_of(operand).ndim)):
            operand = transpose(operand, order)
    if hasattr(operand, "aval") and operand.aval.shape == sizes:
        return operand  # type: ignore[return-value]  # it has an aval: an array
    return reshape_p.bind(operand, new_sizes=sizes)


def broadcast(
    operand: ArrayLike, sizes: Sequence[int], *, out_sharding: ShardingLike | None = None
) -> Array:
    """``operand`` repeated along new leading axes: ``[...] -> [*sizes, ...]``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.broadcast(jnp.array([1, 2]), (2,))
        Array([[1, 2],
               [1, 2]], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out("broadcast", freely(broadcast, operand=operand, sizes=sizes), out_sharding)
    new = static_sizes("broadcast", tuple(sizes))
    shape = aval_of(operand).shape
    return broadcast_in_dim(operand, (*new, *shape), range(len(new), len(new) + len(shape)))


def broadcast_in_dim(
    operand: ArrayLike,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """``operand`` repeated along axes that it lacks, and along its axes of size 1.

    Shapes:
        operand: ``[...]`` -> ``shape``.

    Args:
        operand: the array.
        shape: shape of the result.
        broadcast_dimensions: for each axis of ``operand``, its position in ``shape``, in any order.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 2), (0,))
        Array([[1, 1],
               [2, 2]], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "broadcast_in_dim",
            freely(
                broadcast_in_dim,
                operand=operand,
                shape=shape,
                broadcast_dimensions=broadcast_dimensions,
            ),
            out_sharding,
        )
    target = static_sizes("broadcast_in_dim", shape)
    dims = static_ints("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
    if (
        hasattr(operand, "aval")
        and operand.aval.shape == target
        and dims == tuple(range(len(dims)))
    ):
        return operand  # type: ignore[return-value]  # it has an aval: an array
    if len(dims) > 1 and [*dims] != sorted(dims) and len(dims) == aval_of(operand).ndim:
        operand, dims = transpose(operand, np.argsort(dims).tolist()), tuple(sorted(dims))
    return broadcast_in_dim_p.bind(operand, shape=target, broadcast_dimensions=dims)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """``x`` with leading axes of size 1, so many that its rank is at least ``rank``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.broadcast_to_rank(jnp.array([1, 2]), 2)
        Array([[1, 2]], dtype=int32)
    """
    return expand_dims(x, range(rank - aval_of(x).ndim))


def iota(dtype: DTypeLike, size: int) -> Array:
    """``0, 1, ..., size - 1``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.iota(jnp.int32, 3)
        Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: DTypeLike,
    shape: Sequence[int],
    dimension: int,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Each element's index along one axis.

    Shapes:
        -> ``shape``, of ``dtype``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.broadcasted_iota(jnp.int32, (2, 2), 1)
        Array([[0, 1],
               [0, 1]], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "broadcasted_iota",
            broadcasted_iota(dtype=dtype, shape=shape, dimension=dimension),
            out_sharding,
        )
    if dtype is None:
        raise ValueError("broadcasted_iota: dtype must be specified.")
    return iota_p.bind(
        dtype=canonical_dtype("broadcasted_iota", dtype),
        shape=static_sizes("iota", shape),
        dimension=int(dimension),
    )


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """``array`` with axes of size 1 at ``dimensions`` of the result.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.expand_dims(jnp.arange(3), (0,))
        Array([[0, 1, 2]], dtype=int32)
    """
    aval = aval_of(array)
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"lax.expand_dims: dimensions {tuple(dimensions)} name an axis twice.")
    new = set(canonical_axes(tuple(dimensions), aval.ndim + len(dimensions)))
    if len(new) != len(dimensions):
        raise ValueError(f"lax.expand_dims: dimensions {tuple(dimensions)} name an axis twice.")
    kept = iter(aval.shape)
    rank = aval.ndim + len(new)
    shape = tuple(1 if i in new else next(kept) for i in range(rank))
    return broadcast_in_dim(array, shape, tuple(i for i in range(rank) if i not in new))


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """``array`` without some of its axes of size 1.

    Raises:
        ValueError: an axis does not exist, or has another size.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.squeeze(jnp.array([[1, 2]]), (0,))
        Array([1, 2], dtype=int32)
    """
    rank = aval_of(array).ndim
    dims = canonical_axes(tuple(dimensions), rank)
    if not dims and hasattr(array, "aval"):
        return array  # type: ignore[return-value]  # it has an aval: an array
    return squeeze_p.bind(array, dimensions=tuple(sorted(dims)))


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """``operand`` with the order of elements reversed along ``dimensions``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.rev(jnp.array([1, 2, 3]), (0,))
        Array([3, 2, 1], dtype=int32)
    """
    return rev_p.bind(operand, dimensions=static_ints("rev", "dimensions", dimensions))


def transpose(operand: ArrayLike, permutation: Sequence[int] | np.ndarray[Any, Any]) -> Array:
    """``operand`` with axis ``permutation[i]`` at position ``i``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.transpose(jnp.array([[1, 2], [3, 4]]), (1, 0))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    order = static_ints("transpose", "permutation", permutation)
    if hasattr(operand, "aval") and order == tuple(range(operand.aval.ndim)):
        return operand  # type: ignore[return-value]  # it has an aval: an array
    return transpose_p.bind(operand, permutation=order)


def full(
    shape: Sequence[int],
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    sharding: Sharding | None = None,
) -> Array:
    """An array of one value; weak if ``dtype`` is not given and the value is a Python scalar.

    Args:
        shape: shape of the result.
        fill_value: the value.
        dtype: that of the value by default.
        sharding: the device of the result.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.full((2,), 7)
        Array([7, 7], dtype=int32, weak_type=True)
    """
    target = static_sizes("full", shape)
    aval = aval_of(fill_value)
    if aval.shape:
        raise TypeError(f"lax.full needs a scalar as fill_value, got {aval.str_short()}.")
    if is_symbolic(fill_value):
        fill_value = as_array(fill_value, "full")
    weak = dtype is None and aval.weak_type
    wanted = aval.dtype if dtype is None else dtypes.canonicalize(dtype)
    if isinstance(wanted, dtypes.ExtendedDType):
        if aval.dtype != wanted:
            fill_value = wanted.filled(fill_value)
    elif aval.dtype != wanted or aval.weak_type != weak:
        fill_value = convert(fill_value, wanted, weak)
    filled = broadcast(fill_value, target) if target else as_array(fill_value, "full")
    return filled if sharding is None else device_put(filled, sharding)


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    sharding: Sharding | None = None,
) -> Array:
    """An array of one value, with the shape and dtype of ``x`` by default, and committed to its device if ``x`` is.

    ``sharding`` as of :func:`full`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.full_like(jnp.arange(2.0), 7)
        Array([7., 7.], dtype=float32)
    """
    if type(x) is not Array:
        x = content(x)
    aval = aval_of(x)
    if isinstance(dtype, (int, float, complex, np.ndarray, Array)):
        # A number or an array stands for its dtype.
        dtype = aval_of(dtype).dtype
    wanted = aval.dtype if dtype is None else dtypes.canonicalize(dtype)
    weak = dtype is None and aval.weak_type
    if isinstance(wanted, dtypes.ExtendedDType) and aval_of(fill_value).dtype != wanted:
        fill_value = wanted.filled(fill_value)
    if getattr(fill_value, "shape", ()):
        raise SizeError(
            f"full_like: fill_value is a scalar, got {aval_of(fill_value).str_short()}."
        )
    if isinstance(fill_value, complex) and not wanted.kind == "c":
        raise TypeError(f"full_like: {fill_value} is no number of dtype {wanted.name}.")
    value = as_array(convert(fill_value, wanted, weak), "full_like")
    if type(x) is Array and x.committed and type(value) is Array and not value.committed:
        value = device_put(value, x.sharding.whole)
        if sharding is None and shape is None:
            sharding = x.sharding
    filled = broadcast(value, aval.shape if shape is None else static_sizes("full_like", shape))
    if state.axes:
        filled = converted(filled, aval.vma)
    if sharding is None:
        return retyped(filled, aval) if shape is None else filled
    return device_put(filled, sharding)


def empty(
    shape: int | Sequence[int], dtype: DTypeLike, *, out_sharding: ShardingLike | None = None
) -> Array:
    """An array of unspecified values: here they are zeros.

    Example:
        >>> from plugjax import lax
        >>> lax.empty(3, "float32").shape
        (3,)
    """
    if out_sharding is not None:
        return laid_out("empty", empty(shape=shape, dtype=dtype), out_sharding)
    sizes = static_sizes("empty", (shape,) if isinstance(shape, int) else shape)
    return full(sizes, 0, dtype)


def shape_as_value(shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """A shape as an array of integers.

    Example:
        >>> from plugjax import lax
        >>> lax.shape_as_value((2, 3))
        array([2, 3], dtype=int32)
    """
    sizes = static_ints("shape_as_value", "shape", shape)
    fits = all(abs(size) <= np.iinfo(np.int32).max for size in sizes)
    return np.asarray(sizes, np.int32 if fits else np.int64)


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """``operand`` with axes ``start_dimension`` up to ``stop_dimension`` merged into one.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.collapse(jnp.array([[1, 2], [3, 4]]), 0, 2)
        Array([1, 2, 3, 4], dtype=int32)
    """
    shape = aval_of(operand).shape
    low, high, _ = np.s_[start_dimension:stop_dimension].indices(len(shape))
    if high < low:
        raise ValueError(f"lax.collapse: no axes {start_dimension}:{stop_dimension} in {shape}.")
    return reshape(operand, (*shape[:low], math.prod(shape[low:high]), *shape[high:]))


# Rules that the primitives share ------------------------------------------------------------------


def _on_stored(primitive: Primitive) -> None:
    """The physical rule of a primitive whose parameters name axes: the stored axes come last."""

    @rules.define(physical_rule, primitive)
    def _physical(in_avals: Any, out_avals: Any, *stored: Any, **params: Any) -> Any:
        return primitive.bind(*stored, **params)


_on_stored(squeeze_p)
_on_stored(rev_p)


def _storage(avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    dtype: Any = avals[0].dtype
    shape: tuple[int, ...] = dtype.storage_shape
    return shape


def _preserving(function: Callable[..., tuple[int, ...]]) -> Callable[..., ShapedArray]:
    """Abstract evaluation from the shape of the result, with the operand's dtype and weak type."""

    def rule(x: ShapedArray, **params: Any) -> ShapedArray:
        return ShapedArray(function(x, **params), x.dtype, x.weak_type)

    return rule


# reshape ------------------------------------------------------------------------------------------


@rules.define(abstract_eval, reshape_p)
@_preserving
def _reshape_shape(x: ShapedArray, *, new_sizes: tuple[int, ...]) -> tuple[int, ...]:
    if any(size < 0 for size in new_sizes):
        raise ShapeError(f"reshape takes no negative sizes, got new_sizes {new_sizes}.")
    if math.prod(new_sizes) != x.size:
        raise SizeError(
            f"reshape keeps the total size, but new_sizes {new_sizes} hold {math.prod(new_sizes)} elements, and "
            f"{x.str_short()} has {x.size}."
        )
    return new_sizes


@linear(rules, reshape_p)
def _reshape_transpose(y_bar: Any, x: Any, *, new_sizes: tuple[int, ...]) -> tuple[Any]:
    return (reshape(y_bar, x.aval.shape),)


@rules.define(batching_rule, reshape_p)
def _reshape_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, new_sizes: tuple[int, ...]
) -> tuple[Any, int]:
    return reshape(moveaxis(args[0], dims[0], 0), (axis.size, *new_sizes)), 0


@rules.define(physical_rule, reshape_p)
def _reshape_physical(in_avals: Any, out_avals: Any, x: Any, *, new_sizes: tuple[int, ...]) -> Any:
    return reshape(x, (*new_sizes, *_storage(in_avals)))


# broadcast_in_dim ---------------------------------------------------------------------------------


@rules.define(abstract_eval, broadcast_in_dim_p)
@_preserving
def _broadcast_in_dim_shape(
    x: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> tuple[int, ...]:
    if len(broadcast_dimensions) != x.ndim:
        raise ShapeError(
            f"broadcast_in_dim: broadcast_dimensions {broadcast_dimensions} must name one axis of the result for "
            f"each axis of operand {x.str_short()}."
        )
    if any(not 0 <= d < len(shape) for d in broadcast_dimensions):
        raise ShapeError(
            f"broadcast_in_dim: broadcast_dimensions {broadcast_dimensions} of operand {x.str_short()} are not all "
            f"axes of shape {shape}."
        )
    if any(a >= b for a, b in itertools.pairwise(broadcast_dimensions)):
        raise ShapeError(
            f"broadcast_in_dim needs increasing broadcast_dimensions, got {broadcast_dimensions}. Transpose the "
            "operand first."
        )
    if any(
        size not in (1, shape[d]) for size, d in zip(x.shape, broadcast_dimensions, strict=True)
    ):
        raise ShapeError(
            f"broadcast_in_dim stretches axes of size 1 only: operand {x.str_short()} does not fit shape {shape} "
            f"along broadcast_dimensions {broadcast_dimensions}."
        )
    return shape


@linear(rules, broadcast_in_dim_p)
def _broadcast_in_dim_transpose(
    y_bar: Any, x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> tuple[Any]:
    operand = x.aval.shape
    kept = {d: size for size, d in zip(operand, broadcast_dimensions, strict=True)}
    # Stretched axes of size 1 are summed like new ones; the reshape restores them.
    axes = tuple(d for d, size in enumerate(shape) if kept.get(d) != size or d not in kept)
    return (reshape(reduce_sum_p.bind(y_bar, axes=axes) if axes else y_bar, operand),)


@rules.define(batching_rule, broadcast_in_dim_p)
def _broadcast_in_dim_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int],
    *,
    shape: tuple[int, ...],
    broadcast_dimensions: tuple[int, ...],
) -> tuple[Any, int]:
    return broadcast_in_dim_p.bind(
        moveaxis(args[0], dims[0], 0),
        shape=(axis.size, *shape),
        broadcast_dimensions=(0, *past(broadcast_dimensions, 0)),
    ), 0


@rules.define(printed_rule, broadcast_in_dim_p)
def _broadcast_in_dim_printed(**params: Any) -> dict[str, Any]:
    """The shape stands in the result's type."""
    del params["shape"]
    if not params["broadcast_dimensions"]:
        del params["broadcast_dimensions"]
    return params


@rules.define(physical_rule, broadcast_in_dim_p)
def _broadcast_in_dim_physical(
    in_avals: Any,
    out_avals: Any,
    x: Any,
    *,
    shape: tuple[int, ...],
    broadcast_dimensions: tuple[int, ...],
) -> Any:
    full_shape = (*shape, *_storage(in_avals))
    dims = (*broadcast_dimensions, *range(len(shape), len(full_shape)))
    return broadcast_in_dim_p.bind(x, shape=full_shape, broadcast_dimensions=dims)


# transpose ----------------------------------------------------------------------------------------


@rules.define(abstract_eval, transpose_p)
@_preserving
def _transpose_shape(x: ShapedArray, *, permutation: tuple[int, ...]) -> tuple[int, ...]:
    if sorted(permutation) != list(range(x.ndim)):
        raise ShapeError(
            f"transpose: {permutation} is no permutation of the axes of {x.str_short()}."
        )
    return tuple(x.shape[axis] for axis in permutation)


@linear(rules, transpose_p)
def _transpose_transpose(y_bar: Any, x: Any, *, permutation: tuple[int, ...]) -> tuple[Any]:
    inverse = sorted(range(len(permutation)), key=permutation.__getitem__)
    return (transpose_p.bind(y_bar, permutation=tuple(inverse)),)


@rules.define(batching_rule, transpose_p)
def _transpose_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, permutation: tuple[int, ...]
) -> tuple[Any, int]:
    (bdim,) = dims
    return transpose_p.bind(args[0], permutation=(bdim, *past(permutation, bdim))), 0


@rules.define(physical_rule, transpose_p)
def _transpose_physical(
    in_avals: Any, out_avals: Any, x: Any, *, permutation: tuple[int, ...]
) -> Any:
    rank = len(permutation)
    trailing = range(rank, rank + len(_storage(in_avals)))
    return transpose_p.bind(x, permutation=(*permutation, *trailing))


# squeeze ------------------------------------------------------------------------------------------


@rules.define(abstract_eval, squeeze_p)
@_preserving
def _squeeze_shape(x: ShapedArray, *, dimensions: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"squeeze: dimensions {dimensions} name an axis twice.")
    if any(x.shape[d] != 1 for d in dimensions):
        raise ValueError(
            f"squeeze takes out axes of size 1, got {x.str_short()} and dimensions={dimensions}."
        )
    return tuple(size for d, size in enumerate(x.shape) if d not in dimensions)


@linear(rules, squeeze_p)
def _squeeze_transpose(y_bar: Any, x: Any, *, dimensions: tuple[int, ...]) -> tuple[Any]:
    return (reshape(y_bar, x.aval.shape),)


@rules.define(batching_rule, squeeze_p)
def _squeeze_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, dimensions: tuple[int, ...]
) -> tuple[Any, int]:
    (bdim,) = dims
    moved = past(dimensions, bdim)
    return squeeze_p.bind(args[0], dimensions=moved), bdim - sum(d < bdim for d in moved)


# rev ----------------------------------------------------------------------------------------------


@rules.define(abstract_eval, rev_p)
@_preserving
def _rev_shape(x: ShapedArray, *, dimensions: tuple[int, ...]) -> tuple[int, ...]:
    check_axes("rev", "dimensions", dimensions, x)
    return x.shape


@linear(rules, rev_p)
def _rev_transpose(y_bar: Any, x: Any, *, dimensions: tuple[int, ...]) -> tuple[Any]:
    return (rev_p.bind(y_bar, dimensions=dimensions),)


@rules.define(batching_rule, rev_p)
def _rev_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, dimensions: tuple[int, ...]
) -> tuple[Any, int]:
    (bdim,) = dims
    return rev_p.bind(args[0], dimensions=past(dimensions, bdim)), bdim


# iota ---------------------------------------------------------------------------------------------


@rules.define(abstract_eval, iota_p)
def _iota_aval(*, dtype: DType, shape: tuple[int, ...], dimension: int) -> ShapedArray:
    if dtypes.is_extended(dtype) or not (dtypes.is_integer(dtype) or dtypes.is_inexact(dtype)):
        raise DtypeError(
            f"iota does not accept dtype {dtype.name}, only integer, floating, complex."
        )
    if not 0 <= dimension < len(shape):
        raise ValueError(f"iota: {dimension=} is no axis of {shape=}.")
    return ShapedArray(shape, dtype)


rules.absent(jvp_rule, iota_p, because="it has no operands to differentiate by")
rules.absent(batching_rule, iota_p, because="it has no operands that could have a batch axis")
