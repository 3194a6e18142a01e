"""Selection of one element in every window, and reads and writes at its position.

A selection goes through the elements of a window in order, and keeps its element as long as ``select(kept, next)``:
with ``ge`` the first maximum. Padding is skipped. Reducing pairs of element and place gives the places:

    select_and_gather_add    y_w = x_dot[place_w]                  the derivative of a maximum
    select_and_scatter_add   x_bar[p] = sum of y_w over place_w = p   its transpose
    select_and_scatter       likewise, with any operation in place of the sum

JAX differentiates maxima of windows with the first two. ``reduce_window`` here has its own derivative; all three can be
bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from plugjax.extend.core import (
    ClosedJaxpr,
    Primitive,
    ShapedArray,
    aval_of,
    eval_closed,
    stop_gradient_p,
    zeros,
)
from plugjax.extend.dtypes import INT32
from plugjax.extend.errors import ShapeError
from plugjax.extend.rules import RuleSet, abstract_eval
from plugjax.lax.comparison import bitwise_not, lt
from plugjax.lax.compound import compound, new_compound
from plugjax.lax.control_flow.scan import scan
from plugjax.lax.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from plugjax.lax.families import check_same_dtypes
from plugjax.lax.gather_scatter import gather, scatter, scatter_add
from plugjax.lax.selection import select
from plugjax.lax.shape import broadcast_in_dim, broadcasted_iota, expand_dims, reshape
from plugjax.lax.windowed import reduce_window, reduce_window_shape_tuple

rules = RuleSet(__name__)

select_and_gather_add_p = new_compound("select_and_gather_add")
select_and_scatter_add_p = new_compound("select_and_scatter_add")
select_and_scatter_p = new_compound("select_and_scatter")

Ints = tuple[int, ...]
Select = Callable[[Any, Any], Any]


def selected_places(operand: Any, keeps: Select, windows: dict[str, Any]) -> Any:
    """For each window the place of the selected element in the flattened array; beyond its end if there is none.

    Args:
        operand: the array.
        keeps: ``(element, a later one) -> bool``.
        windows: arguments of ``reduce_window``.
    """
    aval = aval_of(operand)
    places = reshape(broadcasted_iota(INT32, (aval.size,), 0), aval.shape)
    end = np.int32(aval.size)

    def better(a: Any, b: Any) -> Any:
        # Compilers combine in any order, so the earlier element is compared with the later one. A
        # place beyond the end marks padding.
        (x, i), (y, j) = a, b
        first = lt(i, j)
        take_x = select(first, keeps(x, y), bitwise_not(keeps(y, x)))
        take_x = select(lt(i, end), select(lt(j, end), take_x, lt(i, end)), lt(i, i))
        return select(take_x, x, y), select(take_x, i, j)

    init = (np.zeros((), aval.dtype)[()], end)
    return reduce_window((operand, places), init, better, **windows)[1]


def _undilated(window_dimensions: Ints, window_strides: Ints, padding: Any) -> dict[str, Any]:
    return {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
        "base_dilation": (1,) * len(window_dimensions),
        "window_dilation": (1,) * len(window_dimensions),
    }


_POINTS = GatherDimensionNumbers((), (0,), (0,))
_WRITTEN = ScatterDimensionNumbers((), (0,), (0,))


def _flat(x: Any) -> Any:
    return reshape(x, (aval_of(x).size,))


def _indices(places: Any) -> Any:
    return expand_dims(places, (aval_of(places).ndim,))


def _constant(x: Any) -> Any:
    """A value that is constant in derivatives: selections are locally constant."""
    return stop_gradient_p.bind(x)


# Reading ------------------------------------------------------------------------------------------


@rules.define(abstract_eval, select_and_gather_add_p)
def _gather_avals(
    tangents: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **windows: Any
) -> list[ShapedArray]:
    if tangents.shape != operand.shape:
        raise ShapeError(
            f"select_and_gather_add needs tangents of the operand's shape, got {tangents.str_short()} and "
            f"{operand.str_short()}."
        )
    check_same_dtypes("select_and_gather_add", (tangents, operand))
    shape = reduce_window_shape_tuple(operand.shape, **windows)
    return [ShapedArray(shape, tangents.dtype)]


def _select_and_gather_add(
    tangents: Any, operand: Any, *, select_prim: Primitive, **windows: Any
) -> list[Any]:
    places = selected_places(_constant(operand), select_prim.bind, windows)
    mode = GatherScatterMode.FILL_OR_DROP
    return [gather(_flat(tangents), _indices(places), _POINTS, (1,), mode=mode, fill_value=0)]


compound(rules, select_and_gather_add_p, _select_and_gather_add)


# Writing ------------------------------------------------------------------------------------------


def _check_source(
    name: str, source: ShapedArray, operand: ShapedArray, windows: dict[str, Any]
) -> None:
    shape = reduce_window_shape_tuple(operand.shape, **windows)
    if source.shape != shape:
        raise ShapeError(
            f"{name}: there are {shape} windows in {operand.str_short()}, so the source must have that shape, got "
            f"{source.str_short()}."
        )
    check_same_dtypes(name, (source, operand))


@rules.define(abstract_eval, select_and_scatter_add_p)
def _scatter_add_avals(
    source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **windows: Any
) -> list[ShapedArray]:
    _check_source("select_and_scatter_add", source, operand, _undilated(**windows))
    return [ShapedArray(operand.shape, operand.dtype)]


def _select_and_scatter_add(
    source: Any, operand: Any, *, select_prim: Primitive, **windows: Any
) -> list[Any]:
    aval = aval_of(operand)
    places = selected_places(_constant(operand), select_prim.bind, _undilated(**windows))
    none = zeros(ShapedArray((aval.size,), aval.dtype))
    return [reshape(scatter_add(none, _indices(places), source, _WRITTEN), aval.shape)]


compound(rules, select_and_scatter_add_p, _select_and_scatter_add)


@rules.define(abstract_eval, select_and_scatter_p)
def _scatter_avals(
    operand: ShapedArray,
    source: ShapedArray,
    init_value: ShapedArray,
    *,
    select_jaxpr: ClosedJaxpr,
    scatter_jaxpr: ClosedJaxpr,
    **windows: Any,
) -> list[ShapedArray]:
    _check_source("select_and_scatter", source, operand, _undilated(**windows))
    return [ShapedArray(operand.shape, operand.dtype)]


def _select_and_scatter(
    operand: Any,
    source: Any,
    init_value: Any,
    *,
    select_jaxpr: ClosedJaxpr,
    scatter_jaxpr: ClosedJaxpr,
    **windows: Any,
) -> list[Any]:
    aval = aval_of(operand)
    keeps = partial(_scalar, select_jaxpr)
    places = selected_places(_constant(operand), keeps, _undilated(**windows))

    def step(found: Any, window: tuple[Any, Any]) -> tuple[Any, tuple[()]]:
        place, value = window
        indices = expand_dims(place, (0,))
        mode = GatherScatterMode.FILL_OR_DROP
        old = gather(found, indices, _POINTS, (1,), mode=mode, fill_value=0)
        new = _scalar(scatter_jaxpr, old, value)
        return scatter(found, indices, new, _WRITTEN, unique_indices=True), ()

    start = broadcast_in_dim(init_value, (aval.size,), ())
    found, _ = scan(step, start, (_flat(places), _flat(source)))
    return [reshape(found, aval.shape)]


def _scalar(program: ClosedJaxpr, *args: Any) -> Any:
    (y,) = eval_closed(program, *args)
    return y


compound(rules, select_and_scatter_p, _select_and_scatter)
