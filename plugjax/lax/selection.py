"""Choosing between values: ``select_n`` and ``clamp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Zero,
    add_any,
    aval_of,
    broadcast_in_dim_p,
    instantiate,
    moveaxis,
    select_n_p,
    zeros,
)
from plugjax.extend.errors import DtypeError, ShapeError
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    jvp_rule,
    physical_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, is_undefined_primal, materialize
from plugjax.lax.comparison import bitwise_and, gt, lt
from plugjax.lax.families import check_same_dtypes, stretch

rules = RuleSet(__name__)

clamp_p = Primitive("clamp")


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Choose elementwise between cases.

    Shapes:
        which: ``[]`` or ``[...]``, bool for two cases, else integer.
        cases: ``[...]``, one shape and dtype -> ``[...]``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.select_n(jnp.array([0, 2, 1]), jnp.zeros(3), jnp.ones(3), jnp.full(3, 2.0))
        Array([0., 2., 1.], dtype=float32)
    """
    if not cases:
        raise ValueError("select_n: there are no cases. Pass one or more.")
    return select_n_p.bind(which, *cases)


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Choose elementwise ``on_true`` where ``pred``, else ``on_false``; shapes as of :func:`select_n`.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([3, 4]))
        Array([1, 4], dtype=int32)
    """
    return select_n_p.bind(pred, on_false, on_true)


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Elementwise ``x`` moved into the interval; bounds are scalars or have the shape of ``x``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.clamp(0, jnp.array([-1, 1, 3]), 2)
        Array([0, 1, 2], dtype=int32)
    """
    return clamp_p.bind(min, x, max)


@rules.define(abstract_eval, select_n_p)
def _select_n_aval(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    first = cases[0]
    if any(c.shape != first.shape for c in cases):
        raise ShapeError(
            f"select_n needs cases of one shape, got [{', '.join(c.str_short() for c in cases)}]."
        )
    check_same_dtypes("select_n", cases)
    if which.shape and which.shape != first.shape:
        raise ShapeError(
            f"select_n: which, {which.str_short()}, is neither a scalar nor of the shape of the cases, "
            f"{first.str_short()}."
        )
    if which.dtype == dtypes.BOOL:
        if len(cases) > 2:
            raise DtypeError(
                f"select_n: a bool chooses between 2 cases, got {len(cases)}. Convert which to int32."
            )
    elif not dtypes.is_integer(which.dtype):
        raise DtypeError(f"select_n needs which to be bool or integer, got {which.dtype.name}.")
    return ShapedArray(first.shape, first.dtype, all(c.weak_type for c in cases))


@rules.define(jvp_rule, select_n_p)
def _select_n_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    which, *cases = primals
    out = select_n(which, *cases)
    if all(type(t) is Zero for t in tangents[1:]):
        return out, Zero(aval_of(out).to_tangent_aval())
    return out, select_n(which, *[instantiate(t) for t in tangents[1:]])


@rules.define(transpose_rule, select_n_p)
def _select_n_transpose(bar: Any, which: Any, *cases: Any) -> list[Any]:
    zero = zeros(aval_of(bar))
    return [
        None,
        *(
            select_n(which, *[bar if i == j else zero for j in range(len(cases))])
            if is_undefined_primal(case)
            else None
            for i, case in enumerate(cases)
        ),
    ]


@rules.define(batching_rule, select_n_p)
def _select_n_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[Any, int]:
    (which, *cases), (which_dim, *case_dims) = args, dims
    if which_dim is None and not aval_of(which).shape:
        return select_n(
            which, *[materialize(c, d, axis) for c, d in zip(cases, case_dims, strict=True)]
        ), 0
    moved = [materialize(c, d, axis) for c, d in zip(cases, case_dims, strict=True)]
    full = aval_of(moved[0]).shape
    which = materialize(which, which_dim, axis)
    if aval_of(which).shape != full:
        which = per_instance(which, full)
    return select_n(which, *moved), 0


@rules.define(physical_rule, select_n_p)
def _select_n_physical(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], which: Any, *cases: Any
) -> Any:
    full = aval_of(cases[0]).shape
    rank = in_avals[0].ndim
    if rank:
        which = broadcast_in_dim_p.bind(which, shape=full, broadcast_dimensions=tuple(range(rank)))
    return select_n(which, *cases)


@rules.define(abstract_eval, clamp_p)
def _clamp_aval(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    check_same_dtypes("clamp", (low, x, high))
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise ShapeError(
                f"clamp: {name} of shape {bound.shape} is neither a scalar nor of the operand's shape {x.shape}."
            )
    return x if low.weak_type and high.weak_type else x.strip_weak_type()


@rules.define(jvp_rule, clamp_p)
def _clamp_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    low, x, high = primals
    y = clamp(low, x, high)
    aval = aval_of(y)
    if all(type(t) is Zero for t in tangents):
        return y, Zero(aval.to_tangent_aval())
    zero = zeros(aval.to_tangent_aval())
    # Strict comparisons: a value on a bound passes. If the bounds are in the wrong order, the upper
    # one wins.
    chosen: tuple[Callable[[], Any], ...] = (
        lambda: bitwise_and(gt(low, x), lt(low, high)),
        lambda: bitwise_and(gt(x, low), lt(x, high)),
        lambda: lt(high, x),
    )
    y_dot: Any = Zero(aval.to_tangent_aval())
    for where, t in zip(chosen, tangents, strict=True):
        if type(t) is not Zero:
            y_dot = add_any(y_dot, select(where(), stretch(t, aval), zero))
    return y, y_dot


@rules.define(batching_rule, clamp_p)
def _clamp_batching(axis: Axis, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, int]:
    if (
        dims[0] is None
        and dims[2] is None
        and not (aval_of(args[0]).shape or aval_of(args[2]).shape)
    ):
        return clamp(*args), dims[1]  # type: ignore[return-value]  # the operand is batched
    x = materialize(args[1], dims[1], axis)
    full = aval_of(x).shape

    def bound(value: Any, dim: int | None) -> Any:
        if dim is None and not aval_of(value).shape:
            return _fill(value, full)
        value = moveaxis(value, dim, 0) if dim is not None else materialize(value, None, axis)
        return per_instance(value, full) if aval_of(value).ndim < len(full) else value

    return clamp(bound(args[0], dims[0]), x, bound(args[2], dims[2])), 0


def per_instance(values: Any, shape: tuple[int, ...]) -> Any:
    """One value for each instance of a batch, ``[n]``, repeated over the other axes of ``shape``, ``[n, ...]``."""
    if len(shape) == 1:
        return values
    return broadcast_in_dim_p.bind(values, shape=shape, broadcast_dimensions=(0,))


def _fill(value: Any, shape: tuple[int, ...]) -> Any:
    return broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=())
