"""Rules of the scatters, which ``gather_scatter.py`` declares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plugjax.extend.core import (
    Primitive,
    ShapedArray,
    Zero,
    add_any,
    aval_of,
    instantiate,
    moveaxis,
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
from plugjax.lax.arithmetic import add, div, mul, neg
from plugjax.lax.comparison import eq
from plugjax.lax.compound import compound
from plugjax.lax.dimension_numbers import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    batched_numbers,
    check_indices,
    gather_shape,
    scatter_slice_sizes,
)
from plugjax.lax.families import NUMBER, check_same_dtypes, convert
from plugjax.lax.gather_scatter import (
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from plugjax.lax.selection import select
from plugjax.lax.shape import broadcast_in_dim, broadcasted_iota, full, reshape

rules = RuleSet(__name__)


@rules.define(abstract_eval, scatter_p, scatter_min_p, scatter_max_p)
def _scatter_aval(
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **_: Any,
) -> ShapedArray:
    sizes = scatter_slice_sizes(operand, updates, dimension_numbers)
    fitting = gather_shape(operand, indices, dimension_numbers.as_gather(), sizes, "scatter")
    if updates.shape != fitting:
        raise ShapeError(
            f"scatter: indices {indices.str_short()} and {dimension_numbers} need updates of shape "
            f"{fitting}, got "
            f"{updates.str_short()}."
        )
    check_indices("scatter", indices)
    check_same_dtypes("scatter", (operand, updates))
    return operand


@rules.define(abstract_eval, scatter_add_p, scatter_mul_p)
def _scatter_numeric_aval(operand: ShapedArray, *others: ShapedArray, **params: Any) -> ShapedArray:
    if operand.dtype not in NUMBER:
        raise DtypeError(f"scatter: {operand.dtype.name} values have no sum or product.")
    found: ShapedArray = _scatter_aval(operand, *others, **params)
    return found


@rules.define(abstract_eval, scatter_sub_p)
def _scatter_sub_avals(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    return [_scatter_numeric_aval(*avals, **params)]


def _read(source: Any, indices: Any, updates: Any, params: dict[str, Any]) -> Any:
    """The windows of ``source`` that a scatter with ``params`` writes; 0 for dropped ones."""
    numbers = params["dimension_numbers"]
    fills = params["mode"] is GatherScatterMode.FILL_OR_DROP
    return gather_p.bind(
        source,
        indices,
        slice_sizes=scatter_slice_sizes(aval_of(source), aval_of(updates), numbers),
        fill_value=0 if fills else None,
        **{**params, "dimension_numbers": numbers.as_gather()},
    )


def _zero_derivative(y: Any, tangents: Sequence[Any]) -> Any:
    """The symbolic zero if there is no tangent, else ``None``."""
    if type(tangents[0]) is Zero and type(tangents[2]) is Zero:
        return Zero(aval_of(y).to_tangent_aval())
    return None


@rules.define(jvp_rule, scatter_add_p)
def _scatter_add_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    y = scatter_add_p.bind(*primals, **params)
    zero = _zero_derivative(y, tangents)
    if zero is not None:
        return y, zero
    x_dot, _, u_dot = tangents
    if type(u_dot) is Zero:
        return y, x_dot
    return y, scatter_add_p.bind(instantiate(x_dot), primals[1], u_dot, **params)


@rules.define(transpose_rule, scatter_add_p)
def _scatter_add_transpose(
    y_bar: Any, operand: Any, indices: Any, updates: Any, **params: Any
) -> tuple[Any, None, Any]:
    return (
        y_bar if is_undefined_primal(operand) else None,
        None,
        _read(y_bar, indices, updates, params) if is_undefined_primal(updates) else None,
    )


@rules.define(physical_rule, scatter_p)
def _scatter_physical(
    in_avals: Sequence[ShapedArray],
    out_avals: Any,
    operand: Any,
    indices: Any,
    updates: Any,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> Any:
    windows = (
        *dimension_numbers.update_window_dims,
        *range(in_avals[2].ndim, aval_of(updates).ndim),
    )
    numbers = replace(dimension_numbers, update_window_dims=windows)
    return scatter_p.bind(operand, indices, updates, dimension_numbers=numbers, **params)


@rules.define(jvp_rule, scatter_p)
def _scatter_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    operand, indices, updates = primals
    y = scatter_p.bind(*primals, **params)
    zero = _zero_derivative(y, tangents)
    if zero is not None:
        return y, zero
    x_dot, u_dot = instantiate(tangents[0]), instantiate(tangents[2])
    if params["unique_indices"]:
        return y, scatter_p.bind(x_dot, indices, u_dot, **params)
    # Of several updates of an element one wins. Scattering their numbers tells which: only the
    # winner keeps its tangent, and only unwritten elements of the operand keep theirs.
    numbers = _window_numbers(aval_of(updates), params["dimension_numbers"])
    none = full(aval_of(operand).shape, 0, np.int32)
    winners = scatter_p.bind(none, indices, numbers, **params)
    untouched = eq(winners, none)
    won = eq(_read(winners, indices, updates, params), numbers)
    return y, scatter_add_p.bind(
        select(untouched, x_dot, zeros(aval_of(x_dot))),
        indices,
        select(won, u_dot, zeros(aval_of(u_dot))),
        **params,
    )


def _window_numbers(updates: ShapedArray, numbers: ScatterDimensionNumbers) -> Any:
    """For each element of the updates the number, from 1, of its window."""
    rank = updates.ndim
    kept = tuple(d for d in range(rank) if d not in numbers.update_window_dims)
    sizes = tuple(updates.shape[d] for d in kept)
    count = add(broadcasted_iota(np.int32, (math.prod(sizes),), 0), np.int32(1))
    return broadcast_in_dim(reshape(count, sizes), updates.shape, kept)


@rules.define(transpose_rule, scatter_p)
def _scatter_transpose(
    y_bar: Any, operand: Any, indices: Any, updates: Any, **params: Any
) -> tuple[Any, None, Any]:
    if not params["unique_indices"]:
        raise NotImplementedError(
            "scatter: reverse mode needs to know that no index comes twice. Pass unique_indices=True."
        )
    x_bar = u_bar = None
    if is_undefined_primal(operand):
        x_bar = scatter_p.bind(y_bar, indices, zeros(aval_of(updates)), **params)
    if is_undefined_primal(updates):
        u_bar = _read(y_bar, indices, updates, params)
    return x_bar, None, u_bar


@rules.define(jvp_rule, scatter_mul_p)
def _scatter_mul_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    operand, indices, updates = primals
    x_dot, _, u_dot = tangents
    y = scatter_mul_p.bind(*primals, **params)
    y_dot: Any = Zero(aval_of(y).to_tangent_aval())
    if type(x_dot) is not Zero:
        y_dot = scatter_mul_p.bind(x_dot, indices, updates, **params)
    if type(u_dot) is not Zero:
        if not params["unique_indices"]:
            raise NotImplementedError(
                "scatter_mul: a derivative in updates needs to know that no index comes twice. Pass "
                "unique_indices=True."
            )
        # Elements without an update correctly have a zero here.
        factors = scatter_add_p.bind(zeros(aval_of(operand)), indices, u_dot, **params)
        y_dot = add_any(y_dot, mul(operand, factors))
    return y, y_dot


@rules.define(transpose_rule, scatter_mul_p)
def _scatter_mul_transpose(
    y_bar: Any, operand: Any, indices: Any, updates: Any, **params: Any
) -> tuple[Any, None, None]:
    return scatter_mul_p.bind(y_bar, indices, updates, **params), None, None


def _extremum_jvp(primitive: Primitive) -> None:
    @rules.define(jvp_rule, primitive)
    def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        operand, indices, updates = primals
        y = primitive.bind(*primals, **params)
        zero = _zero_derivative(y, tangents)
        if zero is not None:
            return y, zero
        # All updates that equal the result share the derivative evenly with the operand's element.
        # A nan equals nothing; it keeps its derivative where there is no update.
        aval = aval_of(y)
        one = full(aval.shape, 1, aval.dtype)
        untouched = scatter_p.bind(one, indices, zeros(aval_of(updates)), **params)
        own = select(eq(untouched, one), one, convert(eq(operand, y), aval.dtype))
        given = convert(eq(updates, _read(y, indices, updates, params)), aval.dtype)
        count = scatter_add_p.bind(own, indices, given, **params)
        total = scatter_add_p.bind(
            mul(instantiate(tangents[0]), own),
            indices,
            mul(instantiate(tangents[2]), given),
            **params,
        )
        return y, div(total, select(eq(count, zeros(aval)), one, count))


_extremum_jvp(scatter_min_p)
_extremum_jvp(scatter_max_p)


def _scatter_batching(primitive: Primitive) -> None:
    @rules.define(batching_rule, primitive)
    def _batching(
        axis: Axis,
        args: Sequence[Any],
        dims: Sequence[int | None],
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **params: Any,
    ) -> tuple[Any, int]:
        operand = materialize(args[0], dims[0], axis)
        updates = materialize(args[2], dims[2], axis)
        indices = args[1] if dims[1] is None else moveaxis(args[1], dims[1], 0)
        numbers = batched_numbers(
            dimension_numbers.as_gather(), True, dims[1] is not None
        ).as_scatter()
        return primitive.bind(operand, indices, updates, dimension_numbers=numbers, **params), 0


for _p in (scatter_p, scatter_add_p, scatter_mul_p, scatter_min_p, scatter_max_p):
    _scatter_batching(_p)


def _scatter_negated(operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    return [scatter_add_p.bind(operand, indices, neg(updates), **params)]


compound(rules, scatter_sub_p, _scatter_negated)
