"""Sums, products, extrema and truth along axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import BOOL, DType, DTypeLike
from plugjax.extend.errors import NamedAxisError
from plugjax.extend.execution import eager_program
from plugjax.lax.families import size_value
from plugjax.numpy.manipulation import axis_tuple, canonical_axes, canonical_axis, ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    as_mask,
    as_operand,
    broadcast_to_shape,
    canonical_dtype,
    check_arraylike,
    convert,
    converted,
    pick,
    reject_out,
    scalar,
)

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip

AxisArg: TypeAlias = int | Sequence[int] | None


def reduced_axes(axis: AxisArg, rank: int) -> tuple[int, ...]:
    """The axes that an ``axis=`` argument names; all for ``None``."""
    if axis is None:
        return tuple(range(rank))
    if type(axis) is int and 0 <= axis < rank:
        return (axis,)
    if isinstance(axis, str) or (isinstance(axis, tuple) and str in map(type, axis)):
        raise NamedAxisError(
            f"axis {axis!r}: a name of a mapped axis is for plugjax.lax.psum and its like; count axes by numbers here."
        )
    return canonical_axes(axis_tuple(axis), rank)


def _kept(result: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    result = convert(result, result.aval.dtype)
    return lax.expand_dims(result, axes) if keepdims else result


def _masked(who: str, x: Array, where: ArrayLike, neutral: Any) -> Array:
    mask = as_mask(who, where)
    return pick(broadcast_to_shape(who, mask, x.shape), x, scalar(neutral, x))


def _initial(who: str, initial: ArrayLike) -> Array:
    found = as_operand(who, initial)
    if found.aval.shape:
        raise ValueError(f"{who}: initial is a scalar, got {found.aval.str_short()}.")
    return found


def wide_integer(dtype: DType) -> DType:
    """The dtype that integers are summed in: at least the default width, as NumPy does."""
    default = dtypes.canonicalize(int)
    if dtype == BOOL:
        return default
    if dtypes.is_integer(dtype) and dtype.itemsize < default.itemsize:
        return np.dtype(f"uint{default.itemsize * 8}") if dtype.name.startswith("u") else default
    return dtype


def _accumulate(
    who: str,
    reduce: Callable[..., Array],
    a: ArrayLike,
    axis: AxisArg,
    dtype: DTypeLike | None,
    keepdims: bool,
    initial: ArrayLike | None,
    where: ArrayLike | None,
    neutral: int,
    combine: Callable[[Array, Array], Array],
    promote_integers: bool = True,
) -> Array:
    x = as_operand(who, a)
    if dtype is not None:
        result = canonical_dtype(who, dtype)
    else:
        result = wide_integer(x.dtype) if promote_integers else x.dtype
    if result == BOOL and dtype is not None:
        # For bools: any, or all.
        reduce, combine = (
            (lax.reduce_and, lax.bitwise_and) if neutral else (lax.reduce_or, lax.bitwise_or)
        )
    elif result == BOOL:
        result = dtypes.canonicalize(int)
    # Halves are summed in float32: 11 bits do not suffice beyond a thousand terms.
    computed = dtypes.FLOAT32 if dtypes.is_float(result) and result.itemsize < 4 else result
    axes = reduced_axes(axis, x.aval.ndim)
    x = converted(x, computed)
    if where is not None:
        x = _masked(who, x, where, neutral)
    total = reduce(x, axes)
    if initial is not None:
        total = combine(converted(_initial(who, initial), computed), total)
    return _kept(convert(total, result), axes, keepdims)


@eager_program(1)
def sum(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Sum along axes.

    Args:
        a: array.
        axis: axis or axes; all by default.
        dtype: dtype of the result.
        out: not supported.
        keepdims: whether the axes stay, with size 1.
        initial: a value to start from.
        where: mask of the elements that count; broadcasts with ``a``.
        promote_integers: whether small integers are summed in the default width.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.sum(jnp.arange(4).reshape(2, 2), axis=0)
        Array([2, 4], dtype=int32)
    """
    if (
        type(a) is Array and a.aval.dtype == dtypes.FLOAT32 and not a.aval.weak_type
        and dtype is None and initial is None and where is None and not keepdims and out is None
    ):  # fmt: skip
        return lax.reduce_sum(a, reduced_axes(axis, a.aval.ndim))
    reject_out("sum", out)
    return _accumulate(
        "sum",
        lax.reduce_sum,
        a,
        axis,
        dtype,
        keepdims,
        initial,
        where,
        0,
        lax.add,
        promote_integers,
    )


@eager_program(1)
def prod(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Product along axes; arguments as of :func:`sum`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.prod(jnp.array([2, 3]))
        Array(6, dtype=int32)
    """
    reject_out("prod", out)
    return _accumulate(
        "prod",
        lax.reduce_prod,
        a,
        axis,
        dtype,
        keepdims,
        initial,
        where,
        1,
        lax.mul,
        promote_integers,
    )


def _extremum(
    who: str,
    reduce: Callable[..., Array],
    combine: Callable[[Array, Array], Array],
    a: ArrayLike,
    axis: AxisArg,
    keepdims: bool,
    initial: ArrayLike | None,
    where: ArrayLike | None,
    largest: bool,
) -> Array:
    x = as_operand(who, a)
    axes = reduced_axes(axis, x.aval.ndim)
    if where is not None and initial is None:
        as_mask(who, where)
        raise ValueError(f"{who} has no identity for what 'where' leaves out; give 'initial', too.")
    if initial is None and not math.prod([x.shape[i] for i in axes]):
        raise ValueError(f"{who} has no identity, so it needs elements; give 'initial'.")
    if where is not None:
        x = _masked(who, x, where, _limit(x.dtype, not largest))
    if x.dtype.kind == "c":
        found = lax.reduce(x, scalar(_limit(x.dtype, not largest), x), combine, axes)
    else:
        found = reduce(x, axes)
    if initial is not None:
        found = combine(converted(_initial(who, initial), x.dtype), found)
    return _kept(found, axes, keepdims)


def _limit(dtype: DType, largest: bool) -> Any:
    if dtype == BOOL:
        return largest
    if dtypes.is_float(dtype):
        return np.inf if largest else -np.inf
    if dtype.kind == "c":
        return complex(np.inf, np.inf) if largest else complex(-np.inf, -np.inf)
    info = np.iinfo(dtype)
    return info.max if largest else info.min


@eager_program(1)
def max(
    a: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Largest element along axes; nan if there is one. Complex numbers are in lexicographic order.

    Raises:
        ValueError: no elements, and no ``initial``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.max(jnp.array([1.0, 3.0, 2.0]))
        Array(3., dtype=float32)
    """
    reject_out("max", out)
    return _extremum("max", lax.reduce_max, lax.max, a, axis, keepdims, initial, where, True)


@eager_program(1)
def min(
    a: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Smallest element along axes; nan if there is one. Arguments as of :func:`max`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.min(jnp.array([[3, 1], [2, 4]]), axis=0)
        Array([2, 1], dtype=int32)
    """
    reject_out("min", out)
    return _extremum("min", lax.reduce_min, lax.min, a, axis, keepdims, initial, where, False)


amax = max
amin = min


def ptp(a: ArrayLike, axis: AxisArg = None, out: None = None, keepdims: bool = False) -> Array:
    """Largest minus smallest element along axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.ptp(jnp.array([3, 1, 7]))
        Array(6, dtype=int32)
    """
    reject_out("ptp", out)
    x = as_operand("ptp", a)
    axes = reduced_axes(axis, x.aval.ndim)
    return lax.sub(max(x, axes, keepdims=keepdims), min(x, axes, keepdims=keepdims))


def _truth(
    who: str,
    reduce: Callable[..., Array],
    a: ArrayLike,
    axis: AxisArg,
    out: None,
    keepdims: bool,
    where: ArrayLike | None,
    neutral: bool,
) -> Array:
    reject_out(who, out)
    x = as_operand(who, a)
    if x.dtype != BOOL:
        x = lax.convert_element_type(x, BOOL)
    if where is not None:
        x = _masked(who, x, where, neutral)
    axes = reduced_axes(axis, x.aval.ndim)
    return _kept(reduce(x, axes), axes, keepdims)


@eager_program(1)
def all(
    a: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether all elements along axes are true.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.all(jnp.array([[True, False], [True, True]]), axis=1)
        Array([False,  True], dtype=bool)
    """
    return _truth("all", lax.reduce_and, a, axis, out, keepdims, where, True)


@eager_program(1)
def any(
    a: ArrayLike,
    axis: AxisArg = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether any element along axes is true.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.any(jnp.array([[True, False], [False, False]]), axis=1)
        Array([ True, False], dtype=bool)
    """
    return _truth("any", lax.reduce_or, a, axis, out, keepdims, where, False)


def count_nonzero(a: ArrayLike, axis: AxisArg = None, keepdims: bool = False) -> Array:
    """Number of elements along axes that are not 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.count_nonzero(jnp.array([0, 3, 4]))
        Array(2, dtype=int32)
    """
    x = as_operand("count_nonzero", a)
    return sum(lax.ne(x, scalar(0, x)), axis, dtypes.canonicalize(int), keepdims=keepdims)


def _mean_dtype(who: str, x: Array, dtype: DTypeLike | None) -> tuple[DType, DType]:
    """Dtype of the result, and the one to compute in."""
    result = dtypes.to_inexact(x.dtype) if dtype is None else canonical_dtype(who, dtype)
    if dtype is None:
        result = dtypes.canonicalize(result)
    small = dtypes.is_float(result) and result.itemsize < 4
    return result, dtypes.FLOAT32 if small else result


def _count(
    who: str, x: Array, axes: tuple[int, ...], where: ArrayLike | None, dtype: DType, keepdims: bool
) -> Any:
    real = {dtypes.COMPLEX64: dtypes.FLOAT32, dtypes.COMPLEX128: dtypes.FLOAT64}.get(dtype, dtype)
    if where is None:
        return size_value(math.prod([x.shape[i] for i in axes]), real)
    mask = broadcast_to_shape(who, as_mask(who, where), x.shape)
    return sum(mask, axes, real, keepdims=keepdims)


def _divided(total: Array, count: Any) -> Array:
    return lax.div(
        total,
        scalar(count, total) if isinstance(count, np.generic) else converted(count, total.dtype),
    )


def mean(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Arithmetic mean along axes; arguments as of :func:`sum`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.mean(jnp.arange(4))
        Array(1.5, dtype=float32)
    """
    reject_out("mean", out)
    x = as_operand("mean", a)
    axes = reduced_axes(axis, x.aval.ndim)
    result, computed = _mean_dtype("mean", x, dtype)
    total = sum(x, axes, computed, keepdims=keepdims, where=where)
    return convert(_divided(total, _count("mean", x, axes, where, computed, keepdims)), result)


def var(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    correction: int | float | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Variance along axes; the sum of squares is divided by the number of elements less ``ddof``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.var(jnp.arange(4))
        Array(1.25, dtype=float32)
    """
    reject_out("var", out)
    check_arraylike("var", ddof)
    if correction is not None:
        if not (isinstance(ddof, int) and ddof == 0):
            raise ValueError("var: correction is another name of ddof; give one of them.")
        ddof = correction  # type: ignore[assignment]  # the array API's name, which allows fractions
    x = as_operand("var", a)
    axes = reduced_axes(axis, x.aval.ndim)
    result, computed = _mean_dtype("var", x, dtype)
    if dtype is None and result.kind == "c":
        result = np.dtype(f"float{result.itemsize * 4}")
    if result.kind != "c" and x.dtype.kind == "c" and dtype is not None:
        raise ValueError("var: dtype must be complex for a complex array")
    if x.dtype.kind == "c" and computed.kind != "c":
        computed = x.dtype
    values = converted(x, computed)
    if mean is None:
        total = sum(values, axes, computed, keepdims=True, where=where)
        centre = _divided(total, _count("var", x, axes, where, computed, True))
    else:
        centre = converted(as_operand("var", mean), computed)
    deviation = lax.sub(values, centre)
    if deviation.dtype.kind == "c":
        squares = lax.real(lax.mul(deviation, lax.conj(deviation)))
    else:
        squares = lax.square(deviation)
    total = sum(squares, axes, squares.dtype, keepdims=keepdims, where=where)
    count = _count("var", x, axes, where, squares.dtype, keepdims)
    defined: Any = True
    degrees: Any
    if isinstance(count, np.generic) and isinstance(ddof, (int, float)):
        degrees = count.dtype.type(float(count) - ddof)
        defined = degrees > 0
        spread = lax.div(total, scalar(degrees, total)) if defined else lax.full_like(total, 0)
    else:
        fewer = scalar(ddof, count) if isinstance(ddof, (int, float)) else as_operand("var", ddof)
        if not isinstance(fewer, np.generic):
            fewer = converted(fewer, count.dtype)
        degrees = lax.sub(count, fewer)
        defined = lax.gt(degrees, scalar(0, degrees))
        # Where the result is undefined the derivative is 0; that of a division by 0 would be nan.
        spread = lax.div(total, pick(defined, degrees, scalar(1, degrees)))
    if not dtypes.is_inexact(result):
        # Divided as integers: beside nan the result becomes a weak float.
        spread = converted(converted(spread, result), dtypes.canonicalize(float))
        return convert(_where_defined(defined, spread), spread.dtype, True)
    return convert(_where_defined(defined, spread), result)


def _where_defined(defined: Any, x: Array) -> Array:
    """``x``, or nan where ``defined``, a bool or an array of bools, is false."""
    if isinstance(defined, (bool, np.bool_)):
        return x if defined else lax.full_like(x, np.nan)
    return pick(defined, x, scalar(np.nan, x))


def std(
    a: ArrayLike,
    axis: AxisArg = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    correction: int | float | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Standard deviation along axes; arguments as of :func:`var`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.std(jnp.array([1.0, 3.0]))
        Array(1., dtype=float32)
    """
    reject_out("std", out)
    if dtype is not None and not dtypes.is_inexact(canonical_dtype("std", dtype)):
        raise ValueError(f"std: the result is floating or complex, got dtype={dtype!r}.")
    return lax.sqrt(
        var(a, axis, dtype, None, ddof, keepdims, where=where, correction=correction, mean=mean)
    )


def _arg_extremum(
    who: str,
    find: Callable[..., Array],
    a: ArrayLike,
    axis: int | None,
    out: None,
    keepdims: bool | None,
) -> Array:
    reject_out(who, out)
    x = as_operand(who, a)
    rank = x.ndim
    if axis is None:
        x = ravel(x)
        position = 0
        kept = tuple(range(rank))
    else:
        position = canonical_axis(operator.index(axis), rank)
        kept = (position,)
    if not x.shape[position]:
        raise ValueError(f"{who}: the axis is empty.")
    found = find(x, position, dtypes.canonicalize(int))
    return _kept(found, kept, bool(keepdims))


@eager_program(1)
def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first largest element along an axis; of the flattened array by default.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.argmax(jnp.array([1, 3, 2]))
        Array(1, dtype=int32)
    """
    return _arg_extremum("argmax", lax.argmax, a, axis, out, keepdims)


@eager_program(1)
def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Index of the first smallest element along an axis; of the flattened array by default.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.argmin(jnp.array([3, 1, 2]))
        Array(1, dtype=int32)
    """
    return _arg_extremum("argmin", lax.argmin, a, axis, out, keepdims)
