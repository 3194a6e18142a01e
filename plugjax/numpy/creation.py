"""Making arrays from values, ranges and grids."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.backend import DeviceLike
from plugjax.extend.core import (
    Array,
    ShapeDtypeStruct,
    Tracer,
    as_array,
    aval_of,
    device_put,
    from_host,
)
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import ConcretizationTypeError, NegativeSizeError, NotArrayError
from plugjax.extend.execution import array_of_values, is_string_array
from plugjax.extend.meshes import ShardingLike
from plugjax.lax import axes
from plugjax.lax.axes import ShapeLike
from plugjax.lax.placement import freely, laid_out, over_mesh_in_force
from plugjax.lax.promotion import content
from plugjax.lax.shape import iota_p
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    broadcast_to_shape,
    canonical_dtype,
    check_arraylike,
    join_dtypes,
    pick,
    scalar,
)

__all__ = [
    "arange", "array", "asarray", "copy", "empty", "empty_like", "eye", "full", "full_like", "identity",
    "ones", "ones_like", "tri", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip

_PYTHON = (bool, int, float, complex)
_REAL = {int, float}


def _placed(x: Array, device: Any) -> Array:
    return over_mesh_in_force(x) if device is None else device_put(x, device)


def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *args: Any,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array from array-likes and nested sequences of them; the values are copied.

    Args:
        object: array, scalar, or nested lists and tuples of them.
        dtype: dtype of the result; by default that of the values, 64-bit types narrowed unless x64 is on.
        *args: ``copy``, ``order`` and ``ndmin`` by position (deprecated).
        copy: whether memory may be shared with ``object``.
        order: accepted as in NumPy; arrays have no memory order.
        ndmin: least number of axes.
        device: the device of the result.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Raises:
        TypeError: an element of ``object`` is not a number.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.array([1, 2.5])
        Array([1. , 2.5], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "array",
            freely(array, object, dtype, *args, copy=copy, order=order, ndmin=ndmin, device=device),
            out_sharding,
        )
    if args:
        copy, order, ndmin = _by_position(args, (copy, order, ndmin))
    if order not in (None, "K"):
        raise NotImplementedError("array: order is 'K', or left out.")
    if object is None:
        raise NotArrayError("array: None holds no numbers.")
    if device is not None and dtype is None and is_string_array(object):
        return device_put(object, device)
    wanted = None if dtype is None else canonical_dtype("array", dtype)
    result = _from_values(object, wanted, bool(copy))
    if result.ndim < ndmin:
        result = lax.expand_dims(result, range(ndmin - result.ndim))
    return _placed(result, device)


def _by_position(args: tuple[Any, ...], named: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Options of :func:`array` given by position, merged with those given by name."""
    if len(args) > 3:
        raise TypeError(f"array takes five arguments by position at most, got {len(args) + 2}.")
    if named[: len(args)] != (True, "K", 0)[: len(args)]:
        raise TypeError("array: an option came by position and by name.")
    warnings.warn(
        "array: name copy, order and ndmin; they will no longer be taken by position.",
        DeprecationWarning,
        stacklevel=3,
    )
    given = (*args, *named[len(args) :])
    return given[0], given[1], given[2]


def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """As :func:`array`, but an array that needs no conversion is returned unchanged.

    Example:
        >>> import plugjax.numpy as jnp
        >>> x = jnp.zeros(2)
        >>> jnp.asarray(x) is x
        True
    """
    if out_sharding is not None:
        return laid_out(
            "asarray",
            freely(asarray, a=a, dtype=dtype, order=order, copy=copy, device=device),
            out_sharding,
        )
    if order not in (None, "K"):
        raise NotImplementedError("asarray: order is 'K', or left out.")
    if type(a) is Array and dtype is None and not copy and device is None:
        return a
    return array(a, dtype, copy=bool(copy), device=device)


def _from_values(value: Any, dtype: DType | None, copy: bool) -> Array:
    if type(value) is not Array:
        value = content(value)
    kind = type(value)
    if kind is Array or isinstance(value, Tracer):
        if dtype is not None and value.dtype != dtype:
            return lax.convert_element_type(value, dtype)
        if dtype is not None and value.weak_type:
            return lax.convert_element_type(value, dtype)
        return lax.copy_p.bind(value) if copy else value
    if kind in _PYTHON:
        if dtype is None:
            return as_array(value, "array")
        return array_of_values(_scalar_of(value, dtype))
    if isinstance(value, (np.ndarray, np.generic)):
        if dtype is None:
            # As in JAX, a copy of a masked array is that of its data.
            return as_array(np.asarray(value) if copy else value, "array")
        return array_of_values(np.array(value, dtype, order="C"))
    if isinstance(value, (list, tuple, range)):
        return _from_sequence(value, dtype)
    if hasattr(value, "__jax_array__"):
        return _from_values(value.__jax_array__(), dtype, copy)
    if hasattr(value, "__array__"):
        return _from_values(np.asarray(value), dtype, copy)
    if isinstance(value, _PYTHON):
        return _from_values(as_array(value), dtype, False)
    try:
        view = memoryview(value)
    except TypeError:
        raise NotArrayError(
            f"array: {type(value)} is not a valid JAX array type: no numbers can be made of {value!r}"
        ) from None
    return _from_values(np.array(view), dtype, copy)


def _scalar_of(value: Any, dtype: DType) -> Any:
    try:
        return dtype.type(value) if dtype.kind != "b" else np.bool_(value)
    except TypeError:
        return np.asarray(value).astype(dtype)[()]


def _from_sequence(value: Sequence[Any], dtype: DType | None) -> Array:
    leaves = list(_leaves(value))
    if all(type(leaf) in _PYTHON for leaf in leaves):
        if dtype is None:
            kinds = {type(leaf) for leaf in leaves}
            widest = next(
                (k for k in (complex, float, int) if k in kinds), bool if leaves else float
            )
            dtype = dtypes.canonicalize(widest)
        return array_of_values(_rectangular(value, dtype))
    if dtype is None:
        check_arraylike("array", *leaves)
        dtype, _ = join_dtypes(*leaves)
    if any(
        isinstance(leaf, Tracer) or dtypes.is_extended(getattr(leaf, "dtype", None))
        for leaf in leaves
    ):
        parts = [_from_values(item, dtype, False) for item in value]
        return lax.concatenate([lax.expand_dims(part, (0,)) for part in parts], 0)
    return array_of_values(_rectangular(_as_numpy(value)).astype(dtype))


def _rectangular(value: Any, dtype: DType | None = None) -> np.ndarray[Any, Any]:
    try:
        return np.array(value, dtype)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise NotArrayError(
            f"array: setting an array element with a sequence: the lists do not have one length in {value!r}."
        ) from error


def _leaves(value: Any) -> Any:
    for item in value:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item)
        elif hasattr(item, "__jax_array__"):
            yield item.__jax_array__()
        else:
            yield item


def _as_numpy(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_numpy(item) for item in value]
    return np.asarray(value.__jax_array__() if hasattr(value, "__jax_array__") else value)


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """A copy of an array, in its own memory.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.copy(jnp.arange(2))
        Array([0, 1], dtype=int32)
    """
    return array(as_operand("copy", a), copy=True, order=order or "K")


def _shape(who: str, shape: Any) -> tuple[int, ...]:
    if type(shape) is int:
        shape = (shape,)
    elif isinstance(shape, Tracer):
        raise ConcretizationTypeError(
            shape, f"{who}: Shapes must be 1D sequences of known sizes, and this one is traced."
        )
    elif isinstance(shape, (dict, set)):
        raise TypeError(f"{who}: a shape is a sequence of integers, got {shape}.")
    elif not isinstance(shape, (tuple, list)):
        scalar = getattr(shape, "ndim", None) == 0 or not hasattr(shape, "__iter__")
        shape = (shape,) if scalar else tuple(shape)
    sizes = []
    for size in shape:
        if isinstance(size, Tracer):
            raise ConcretizationTypeError(
                size,
                f"{who}: Shapes must be 1D sequences of known sizes, and one of these is traced.",
            )
        try:
            sizes.append(axes.index(size))
        except TypeError:
            raise TypeError(
                f"{who}: Shapes must be 1D sequences of integers, got {shape}."
            ) from None
    if any(size < 0 for size in sizes):
        raise NegativeSizeError(f"{who}: a shape has no negative size, got {tuple(sizes)}.")
    return tuple(sizes)


def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Zeros.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.zeros((2, 2), int)
        Array([[0, 0],
               [0, 0]], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out("zeros", zeros(shape=shape, dtype=dtype, device=device), out_sharding)
    wanted = canonical_dtype("zeros", dtype)
    return _placed(lax.full(_shape("zeros", shape), _number(0, wanted), wanted), device)


def ones(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Ones.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ones((2,), int)
        Array([1, 1], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out("ones", ones(shape=shape, dtype=dtype, device=device), out_sharding)
    wanted = canonical_dtype("ones", dtype)
    return _placed(lax.full(_shape("ones", shape), _number(1, wanted), wanted), device)


def _number(value: int, dtype: DType) -> Any:
    return value if dtypes.is_extended(dtype) else dtype.type(value)


def empty(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Zeros: uninitialized memory is never returned.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.empty((2,))
        Array([0., 0.], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("empty", empty(shape=shape, dtype=dtype, device=device), out_sharding)
    return zeros(shape, dtype, device=device)


def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array filled with a value, or with values that broadcast to the shape.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.full(2, 7)
        Array([7, 7], dtype=int32, weak_type=True)
    """
    if out_sharding is not None:
        return laid_out(
            "full",
            full(shape=shape, fill_value=fill_value, dtype=dtype, device=device),
            out_sharding,
        )
    check_arraylike("full", fill_value)
    wanted = None if dtype is None else canonical_dtype("full", dtype)
    sizes = _shape("full", shape)
    if type(fill_value) in _PYTHON or not aval_of(fill_value).shape:
        return _placed(lax.full(sizes, fill_value, wanted), device)
    return _placed(broadcast_to_shape("full", asarray(fill_value, wanted), sizes), device)


def zeros_like(
    a: ArrayLike | ShapeDtypeStruct,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Zeros with the shape and dtype of ``a``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.zeros_like(jnp.arange(2))
        Array([0, 0], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "zeros_like",
            freely(zeros_like, a=a, dtype=dtype, shape=shape, device=device),
            out_sharding,
        )
    return _like("zeros_like", a, 0, dtype, shape, device)


def ones_like(
    a: ArrayLike | ShapeDtypeStruct,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Ones with the shape and dtype of ``a``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ones_like(jnp.arange(2))
        Array([1, 1], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "ones_like",
            freely(ones_like, a=a, dtype=dtype, shape=shape, device=device),
            out_sharding,
        )
    return _like("ones_like", a, 1, dtype, shape, device)


def empty_like(
    prototype: ArrayLike | ShapeDtypeStruct,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: DeviceLike | None = None,
) -> Array:
    """Zeros with the shape and dtype of ``prototype``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.empty_like(jnp.arange(2))
        Array([0, 0], dtype=int32)
    """
    return _like("empty_like", prototype, 0, dtype, shape, device)


def full_like(
    a: ArrayLike | ShapeDtypeStruct,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """An array with the shape and dtype of ``a``, filled with a value.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.full_like(jnp.arange(2), 7)
        Array([7, 7], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "full_like",
            freely(full_like, a=a, fill_value=fill_value, dtype=dtype, shape=shape, device=device),
            out_sharding,
        )
    check_arraylike("full_like", fill_value)
    if type(fill_value) in _PYTHON or not aval_of(fill_value).shape:
        return _like("full_like", a, fill_value, dtype, shape, device)
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        check_arraylike("full_like", a)
    sizes = aval_of(a).shape if shape is None else _shape("full_like", shape)
    values = asarray(fill_value, aval_of(a).dtype if dtype is None else dtype)
    return _placed(broadcast_to_shape("full_like", values, sizes), device)


def _like(
    who: str, a: Any, value: ArrayLike, dtype: DTypeLike | None, shape: Any, device: Any
) -> Array:
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        check_arraylike(who, a)
    wanted = None if dtype is None else canonical_dtype(who, dtype)
    sizes = None if shape is None else _shape(who, shape)
    return _placed(lax.full_like(a, value, wanted, sizes), device)


def _concrete_scalar(who: str, name: str, value: Any) -> Any:
    if isinstance(value, Tracer):
        raise ConcretizationTypeError(value, f"{who}: {name} came as a tracer.")
    if np.ndim(value):
        raise ValueError(f"{who}: {name}={value} is no scalar.")
    return value.item() if isinstance(value, Array) else value


def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Evenly spaced values in ``[start, stop)``; with one argument, in ``[0, start)``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.arange(1, 8, 2)
        Array([1, 3, 5, 7], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "arange",
            arange(start=start, stop=stop, step=step, dtype=dtype, device=device),
            out_sharding,
        )
    given = [v for v in (start, stop, step) if v is not None]
    kinds = set(map(type, given))
    if dtype is not None:
        wanted = canonical_dtype("arange", dtype)
    elif kinds <= _REAL:
        wanted = dtypes.canonicalize(float if float in kinds else int)
    elif all(type(v) is int or axes.is_symbolic(v) for v in given):
        wanted = dtypes.canonicalize(int)
    else:
        check_arraylike("arange", *given)
        wanted = dtypes.canonicalize(join_dtypes(*given)[0])
    if kinds <= _REAL:
        # Nothing else is to be checked of Python's own numbers.
        return _placed(_range(start, stop, 1 if step is None else step, wanted), device)
    first = _concrete_scalar("arange", "start" if stop is not None else "stop", start)
    end = _concrete_scalar("arange", "stop", stop)
    stride = 1 if step is None else _concrete_scalar("arange", "step", step)
    if axes.has_symbols((first, end, stride)):
        return _placed(_symbolic_range(first, end, stride, wanted), device)
    if any(isinstance(v, (complex, np.complexfloating)) for v in (first, end, stride)):
        raise ValueError(
            "arange: passing complex start/stop/step to jnp.arange is not supported. Add or multiply by a complex number after."
        )
    return _placed(_range(first, end, stride, wanted), device)


def _range(first: Any, end: Any, stride: Any, dtype: DType) -> Array:
    if end is None:
        first, end = 0, first
    if stride == 0:
        raise ValueError("arange: step=0 never reaches stop.")
    size = max(0, math.ceil((end - first) / stride))
    if first == 0 and stride == 1:
        return iota_p.bind(dtype=dtype, shape=(size,), dimension=0)
    if dtypes.is_integer(dtype) and dtype.itemsize >= 4:
        counts = lax.iota(dtype, size)
        spread = lax.mul(counts, scalar(stride, counts)) if stride != 1 else counts
        return lax.add(spread, scalar(first, counts)) if first else spread
    return from_host(np.arange(first, end, stride).astype(dtype))


def _symbolic_range(first: Any, end: Any, stride: Any, dtype: DType) -> Array:
    """A range of which a bound is a size that is not known."""
    if end is None:
        first, end = 0, first
    if not all(axes.is_symbolic(v) or type(v) is int for v in (first, end, stride)):
        raise ValueError(
            "In arange with non-constant arguments all of start, stop, and step must be either dimension expressions or "
            f"integers: start={first}, stop={end}, step={stride}."
        )
    if stride == 0:
        raise ValueError("arange: step=0 never reaches stop.")
    distance = end - first if stride > 0 else first - end
    by = stride if stride > 0 else -stride
    size = axes.larger(0, (distance + by - 1) // by)
    counts = lax.iota(dtype, size)
    spread = counts if stride == 1 else lax.mul(counts, scalar(stride, counts))
    return spread if first == 0 else lax.add(spread, scalar(first, counts))


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | None = None,
) -> Array:
    """Ones on the ``k``-th diagonal, zeros elsewhere.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.eye(2)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    wanted = canonical_dtype("eye", dtype)
    shape = _shape("eye", (N, N if M is None else M))
    rows, columns = (lax.broadcasted_iota(np.int32, shape, axis) for axis in (0, 1))
    on = lax.eq(lax.add(rows, _diagonal("eye", k)), columns)
    return _placed(lax.convert_element_type(on, wanted), device)


def _diagonal(who: str, k: Any) -> Any:
    if isinstance(k, (float, complex)):
        raise ValueError(f"{who}: k is the integer of a diagonal, got {k}.")
    if isinstance(k, Tracer) and not k.aval.shape and k.aval.dtype.kind in "iu":
        return lax.convert_element_type(k, np.int32)
    return np.int32(operator.index(k))


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """The identity matrix.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.identity(2)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


def _lower(shape: tuple[int, ...], k: int) -> Array:
    if isinstance(k, (bool, np.bool_)):
        raise TypeError(f"k numbers a diagonal: it is an integer, got {k}.")
    rows = lax.add(lax.broadcasted_iota(np.int32, shape, 0), _diagonal("tri", k))
    return lax.ge(rows, lax.broadcasted_iota(np.int32, shape, 1))


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Ones on and below the ``k``-th diagonal, zeros above; float32 by default.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.tri(2)
        Array([[1., 0.],
               [1., 1.]], dtype=float32)
    """
    shape = _shape("tri", (N, N if M is None else M))
    return lax.convert_element_type(
        _lower(shape, k), canonical_dtype("tri", np.float32 if dtype is None else dtype)
    )


def tril(m: ArrayLike, k: int = 0) -> Array:
    """``m`` with zeros above the ``k``-th diagonal of its last two axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.tril(jnp.ones((2, 2)))
        Array([[1., 0.],
               [1., 1.]], dtype=float32)
    """
    m = as_operand("tril", m)
    if m.ndim < 2:
        raise ValueError(f"tril takes matrices, two axes or more, got {m.aval.str_short()}")
    return pick(_lower(m.shape[-2:], k), m, scalar(0, m))


def triu(m: ArrayLike, k: int = 0) -> Array:
    """``m`` with zeros below the ``k``-th diagonal of its last two axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.triu(jnp.ones((2, 2)))
        Array([[1., 1.],
               [0., 1.]], dtype=float32)
    """
    m = as_operand("triu", m)
    if m.ndim < 2:
        raise ValueError(f"triu takes matrices, two axes or more, got {m.aval.str_short()}")
    return pick(_lower(m.shape[-2:], k - 1), scalar(0, m), m)
