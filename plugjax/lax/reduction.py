"""Reductions over axes, argmax and argmin, and cumulative reductions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from numpy.exceptions import AxisError

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    config,
    reduce_sum_p,
)
from plugjax.extend.dtypes import DType, DTypeLike, is_extended
from plugjax.extend.errors import DtypeError, KeyDtypeError
from plugjax.extend.meshes import ShardingLike
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule, physical_rule
from plugjax.extend.transforms import Axis, jvp_flat
from plugjax.lax.arithmetic import add, div, max, min, mul
from plugjax.lax.axes import past, static_ints
from plugjax.lax.comparison import eq, eq_p, ne_p
from plugjax.lax.exponential import log_add
from plugjax.lax.families import (
    ANY,
    BOOL_OR_INTEGER,
    INEXACT,
    NUMBER,
    DtypeSet,
    convert,
    linear,
    scalar,
    zero_derivative,
)
from plugjax.lax.joining import concatenate, pad
from plugjax.lax.placement import freely, laid_out
from plugjax.lax.shape import broadcast_in_dim, reshape, rev, transpose
from plugjax.lax.slicing import slice_in_dim

rules = RuleSet(__name__)

reduce_max_p = Primitive("reduce_max")
reduce_min_p = Primitive("reduce_min")
reduce_prod_p = Primitive("reduce_prod")
reduce_and_p = Primitive("reduce_and")
reduce_or_p = Primitive("reduce_or")
reduce_xor_p = Primitive("reduce_xor")
argmax_p = Primitive("argmax")
argmin_p = Primitive("argmin")
cumsum_p = Primitive("cumsum")
cumprod_p = Primitive("cumprod")
cummax_p = Primitive("cummax")
cummin_p = Primitive("cummin")
cumlogsumexp_p = Primitive("cumlogsumexp")


def reduce_sum(
    operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike | None = None
) -> Array:
    """Sum over ``axes``, in the dtype of ``operand``; 0 of nothing.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.reduce_sum(jnp.array([[1, 4], [3, 2]]), (0,))
        Array([4, 6], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out("reduce_sum", freely(reduce_sum, operand=operand, axes=axes), out_sharding)
    return reduce_sum_p.bind(operand, axes=static_ints("reduce_sum", "axes", axes))


def reduce_max(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Maximum over ``axes``: nan if one is nan, the lowest value of nothing.

    Elements that are equal to the maximum share its derivative evenly.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.reduce_max(jnp.array([[1, 4], [3, 2]]), (0,))
        Array([3, 4], dtype=int32)
    """
    return reduce_max_p.bind(operand, axes=static_ints("reduce_max", "axes", axes))


def reduce_min(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Minimum over ``axes``: nan if one is nan, the highest value of nothing.

    Elements that are equal to the minimum share its derivative evenly.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.reduce_min(jnp.array([[1, 4], [3, 2]]), (0,))
        Array([1, 2], dtype=int32)
    """
    return reduce_min_p.bind(operand, axes=static_ints("reduce_min", "axes", axes))


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Product over ``axes``, in the dtype of ``operand``; 1 of nothing.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.reduce_prod(jnp.array([[1, 4], [3, 2]]), (0,))
        Array([3, 8], dtype=int32)
    """
    return reduce_prod_p.bind(operand, axes=static_ints("reduce_prod", "axes", axes))


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Conjunction of bools or bits over ``axes``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.reduce_and(jnp.array([[True, False], [True, True]]), (1,))
        Array([False,  True], dtype=bool)
    """
    return reduce_and_p.bind(operand, axes=static_ints("reduce_and", "axes", axes))


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Disjunction of bools or bits over ``axes``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.reduce_or(jnp.array([[True, False], [False, False]]), (1,))
        Array([ True, False], dtype=bool)
    """
    return reduce_or_p.bind(operand, axes=static_ints("reduce_or", "axes", axes))


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Exclusive disjunction of bools or bits over ``axes``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.reduce_xor(jnp.array([6, 3]), (0,))
        Array(5, dtype=int32)
    """
    return reduce_xor_p.bind(operand, axes=static_ints("reduce_xor", "axes", axes))


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Index of the first maximum along ``axis``; of the first nan if there is one.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.argmax(jnp.array([1, 3, 2]), 0, jnp.int32)
        Array(1, dtype=int32)
    """
    return argmax_p.bind(
        operand, axes=(operator.index(axis),), index_dtype=dtypes.canonicalize(index_dtype)
    )


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Index of the first minimum along ``axis``; of the first nan if there is one.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.argmin(jnp.array([3, 1, 2]), 0, jnp.int32)
        Array(1, dtype=int32)
    """
    return argmin_p.bind(
        operand, axes=(operator.index(axis),), index_dtype=dtypes.canonicalize(index_dtype)
    )


def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Sums of the elements up to each one along ``axis``; from the end if ``reverse``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.cumsum(jnp.array([1, 2, 3]), reverse=True)
        Array([6, 5, 3], dtype=int32)
    """
    return cumsum_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Products of the elements up to each one along ``axis``; from the end if ``reverse``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.cumprod(jnp.array([1, 2, 3]))
        Array([1, 2, 6], dtype=int32)
    """
    return cumprod_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Maxima of the elements up to each one along ``axis``; from the end if ``reverse``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.cummax(jnp.array([1, 3, 2]))
        Array([1, 3, 3], dtype=int32)
    """
    return cummax_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Minima of the elements up to each one along ``axis``; from the end if ``reverse``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.cummin(jnp.array([3, 1, 2]))
        Array([3, 1, 1], dtype=int32)
    """
    return cummin_p.bind(operand, axis=int(axis), reverse=bool(reverse))


def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """``log(cumsum(exp(operand)))`` along ``axis``, no overflow; from the end if ``reverse``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.round(lax.cumlogsumexp(jnp.array([0.0, 0.0])) * 100)
        Array([ 0., 69.], dtype=float32)
    """
    return cumlogsumexp_p.bind(operand, axis=int(axis), reverse=bool(reverse))


# Common rules of reductions
# --------------------------------------------------------------------------


def _check_dtype(name: str, aval: ShapedArray, accepts: DtypeSet) -> None:
    if aval.dtype not in accepts:
        raise DtypeError(f"{name} does not accept dtype {aval.dtype.name}, only {accepts.words}.")


def _check_axes(name: str, aval: ShapedArray, axes: tuple[int, ...]) -> None:
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: axes {axes} hold a duplicate.")
    if any(not 0 <= axis < aval.ndim for axis in axes):
        raise AxisError(f"{name}: axes {axes} are out-of-bounds for {aval.str_short()}.")


def _remaining(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for d, size in enumerate(shape) if d not in axes)


def _batching_over_axes(primitive: Primitive) -> None:
    @rules.define(batching_rule, primitive)
    def _batching(
        axis: Axis,
        args: Sequence[Any],
        dims: Sequence[int],
        *,
        axes: tuple[int, ...],
        **params: Any,
    ) -> tuple[Any, int]:
        (bdim,) = dims
        moved = past(axes, bdim)
        return primitive.bind(*args, axes=moved, **params), bdim - sum(a < bdim for a in moved)


def _reduction(primitive: Primitive, accepts: DtypeSet) -> None:
    """Abstract evaluation and batching of a reduction over ``axes``."""
    name = primitive.name

    @rules.define(abstract_eval, primitive)
    def _aval(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        _check_axes(name, x, axes)
        _check_dtype(name, x, accepts)
        if primitive is reduce_sum_p:
            _check_half(x, axes)
        return x.update(shape=_remaining(x.shape, axes))

    _batching_over_axes(primitive)


def _bitwise_reduction(primitive: Primitive) -> None:
    name = primitive.name

    @rules.define(abstract_eval, primitive)
    def _aval(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        _check_dtype(name, x, BOOL_OR_INTEGER)
        _check_axes(name, x, axes)
        return ShapedArray(_remaining(x.shape, axes), x.dtype)

    _batching_over_axes(primitive)
    zero_derivative(rules, primitive)


def _check_half(x: ShapedArray, axes: tuple[int, ...]) -> None:
    if (
        x.dtype.name in ("float16", "bfloat16")
        and not config.read("allow_f16_reductions")
        and any(x.shape[d] != 1 for d in axes)
    ):
        raise ValueError(
            f"reduce_sum on operand {x.str_short()} is not allowed when jax_allow_f16_reductions=False. Convert it to float32 before."
        )


for _p in (reduce_sum_p, reduce_prod_p):
    _reduction(_p, NUMBER)
for _p in (reduce_max_p, reduce_min_p):
    _reduction(_p, ANY)
for _p in (reduce_and_p, reduce_or_p, reduce_xor_p):
    _bitwise_reduction(_p)


def _define_equality(primitive: Primitive, over: Callable[..., Any]) -> None:
    @rules.define(physical_rule, primitive)
    def _of_stored(in_avals: Sequence[ShapedArray], out_avals: Any, *stored: Any) -> Any:
        """Keys are equal if all of their words are equal."""
        (shape,) = {a.shape for a in out_avals}
        parts = []
        for aval, words in zip(in_avals, stored, strict=True):
            inner = aval_of(words).shape[aval.ndim :]
            axes = (*range(aval.ndim), *range(len(shape), len(shape) + len(inner)))
            parts.append(broadcast_in_dim(words, (*shape, *inner), axes))
        rank = len(aval_of(parts[0]).shape)
        return over(primitive.bind(*parts), tuple(range(len(shape), rank)))


_define_equality(eq_p, reduce_and)
_define_equality(ne_p, reduce_or)


@linear(rules, reduce_sum_p)
def _reduce_sum_transpose(y_bar: Any, x: Any, *, axes: tuple[int, ...]) -> tuple[Any]:
    return (_spread(y_bar, x.aval.shape, axes),)


def _spread(y: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The result of a reduction, repeated along the reduced axes."""
    kept = tuple(d for d in range(len(shape)) if d not in axes)
    return broadcast_in_dim(y, shape, kept)


def _extremum_jvp(primitive: Primitive) -> None:
    @rules.define(jvp_rule, primitive)
    def _jvp(
        primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple[int, ...]
    ) -> tuple[Any, Any]:
        (x,), (x_dot,) = primals, tangents
        y = primitive.bind(x, axes=axes)
        if type(x_dot) is Zero:
            return y, Zero(aval_of(y).to_tangent_aval())
        aval = aval_of(x)
        attained = convert(eq(x, _spread(y, aval.shape, axes)), aval.dtype)
        count = reduce_sum(attained, axes)
        return y, div(reduce_sum(mul(x_dot, attained), axes), count)


_extremum_jvp(reduce_max_p)
_extremum_jvp(reduce_min_p)


@rules.define(jvp_rule, reduce_prod_p)
def _reduce_prod_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple[int, ...]
) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    y = reduce_prod(x, axes)
    if type(x_dot) is Zero:
        return y, Zero(aval_of(y).to_tangent_aval())
    # The product of all other elements from the products before and after each one: y / x would
    # fail at zeros.
    shape = aval_of(x).shape
    kept = tuple(d for d in range(len(shape)) if d not in axes)
    rest = _remaining(shape, axes)
    lined_up = (*rest, math.prod(shape[d] for d in axes))

    def line_up(value: Any) -> Any:
        return reshape(transpose(value, (*kept, *axes)), lined_up)

    last = len(rest)
    factors = line_up(x)
    before = _shifted(cumprod(factors, last), last, False)
    after = _shifted(cumprod(factors, last, reverse=True), last, True)
    return y, reduce_sum(mul(line_up(x_dot), mul(before, after)), (last,))


def _shifted(products: Any, axis: int, reverse: bool) -> Any:
    """Cumulative products without each element's own factor."""
    config = [(0, 0, 0)] * aval_of(products).ndim
    config[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
    return pad(products, scalar(1, products), config)


# argmax and argmin --------------------------------------------------------------------------------


def _arg_extremum(primitive: Primitive) -> None:
    name = primitive.name

    @rules.define(abstract_eval, primitive)
    def _aval(x: ShapedArray, *, axes: tuple[int, ...], index_dtype: DType) -> ShapedArray:
        (axis,) = axes
        if not 0 <= axis < x.ndim:
            raise ValueError(f"{name}: {x.str_short()} has no axis {axis}.")
        if x.shape[axis] < 1:
            raise ValueError(f"{name} needs a non-empty axis, got {x.str_short()} and {axis=}.")
        if not dtypes.is_integer(index_dtype):
            raise TypeError(
                f"{name} needs an integer dtype as index_dtype, got {index_dtype.name}."
            )
        if x.dtype.kind == "c" or dtypes.is_extended(x.dtype):
            error = KeyDtypeError if is_extended(x.dtype) else DtypeError
            raise error(f"{name} does not accept dtype {x.dtype.name}: it has no order.")
        return ShapedArray(_remaining(x.shape, axes), index_dtype)

    _batching_over_axes(primitive)
    zero_derivative(rules, primitive)


_arg_extremum(argmax_p)
_arg_extremum(argmin_p)


# Cumulative reductions ----------------------------------------------------------------------------


def _cumulative(primitive: Primitive, accepts: DtypeSet) -> None:
    name = primitive.name

    @rules.define(abstract_eval, primitive)
    def _aval(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if axis < 0:
            raise ValueError(f"{name} takes no negative axes, got {axis=}.")
        if axis >= x.ndim:
            raise ValueError(f"{name}: axis {axis} is out of bounds for {x.str_short()}")
        _check_dtype(name, x, accepts)
        return x

    @rules.define(batching_rule, primitive)
    def _batching(
        batch: Axis, args: Sequence[Any], dims: Sequence[int], *, axis: int, reverse: bool
    ) -> tuple[Any, int]:
        (bdim,) = dims
        return primitive.bind(*args, axis=axis + (axis >= bdim), reverse=reverse), bdim


for _p in (cumsum_p, cumprod_p, cummax_p, cummin_p):
    _cumulative(_p, NUMBER)
_cumulative(cumlogsumexp_p, INEXACT)


@linear(rules, cumsum_p)
def _cumsum_transpose(y_bar: Any, x: Any, *, axis: int, reverse: bool) -> tuple[Any]:
    return (cumsum(y_bar, axis, not reverse),)


def _scan(combine: Callable[[Any, Any], Any], x: Any, axis: int) -> Any:
    """Cumulative reduction as a tree of depth log n: pairs, their scan, and the elements in between."""
    size = aval_of(x).shape[axis]
    if size < 2:
        return x

    def part(value: Any, start: int, limit: int | None, stride: int = 1) -> Any:
        return slice_in_dim(value, start, limit, stride, axis)

    pairs = combine(part(x, 0, size - 1, 2), part(x, 1, None, 2))
    odd = _scan(combine, pairs, axis)
    even = part(x, 0, 1)
    if size > 2:
        before = odd if size % 2 else part(odd, 0, -1)
        even = concatenate([even, combine(before, part(x, 2, None, 2))], axis)
    return _interleaved(even, odd, axis)


def _interleaved(even: Any, odd: Any, axis: int) -> Any:
    rank = aval_of(even).ndim
    shorter = aval_of(even).shape[axis] == aval_of(odd).shape[axis]

    def spread(value: Any, low: int, high: int) -> Any:
        config = [(0, 0, 0)] * rank
        config[axis] = (low, high, 1)
        return pad(value, scalar(0, value), config)

    return add(spread(even, 0, int(shorter)), spread(odd, 1, int(not shorter)))


def _derivative_of_tree(primitive: Primitive, combine: Callable[[Any, Any], Any]) -> None:
    """The derivative of a tree of combinations: exact at zeros; ties are shared as in one combination."""

    @rules.define(jvp_rule, primitive)
    def _jvp(
        primals: Sequence[Any], tangents: Sequence[Any], *, axis: int, reverse: bool
    ) -> tuple[Any, Any]:
        y = primitive.bind(*primals, axis=axis, reverse=reverse)
        if type(tangents[0]) is Zero:
            return y, Zero(aval_of(y).to_tangent_aval())

        def tree(x: Any) -> list[Any]:
            if not reverse:
                return [_scan(combine, x, axis)]
            return [rev(_scan(combine, rev(x, (axis,)), axis), (axis,))]

        _, (y_dot,) = jvp_flat(tree, primals, tangents)
        return y, y_dot


_derivative_of_tree(cumprod_p, mul)
_derivative_of_tree(cummax_p, max)
_derivative_of_tree(cummin_p, min)
_derivative_of_tree(cumlogsumexp_p, log_add)
