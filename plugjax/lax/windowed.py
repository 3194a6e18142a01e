"""Reductions over moving windows.

Along each axis the array is spread by ``base_dilation`` and padded with the neutral element; a window, spread by
``window_dilation``, is placed at every stride. The sum is linear, and its transpose is a sum over windows with strides
and base dilation exchanged. The derivative of a maximum is the tangent at the place of the maximum, the first of
several: places are found by reducing pairs of value and place.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes, pytree
from plugjax.extend.core import (
    ClosedJaxpr,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    eval_closed,
    memoise,
    select_n_p,
    stop_gradient_p,
)
from plugjax.extend.dtypes import INT32
from plugjax.extend.errors import DtypeError, KeyDtypeError, ShapeError
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule
from plugjax.extend.transforms import Axis, behind_boundary, jvp_flat, materialize, stage
from plugjax.lax.arithmetic import add, max, min
from plugjax.lax.axes import static_ints
from plugjax.lax.comparison import bitwise_and, bitwise_or, eq, gt, lt, ne
from plugjax.lax.conv_shape import dilated, padtype_to_pads, window_count
from plugjax.lax.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from plugjax.lax.families import linear
from plugjax.lax.folds import (
    combined,
    flat_operands,
    highest,
    is_neutral,
    lowest,
    scalar_program,
)
from plugjax.lax.gather_scatter import gather
from plugjax.lax.joining import concatenate, pad
from plugjax.lax.shape import broadcasted_iota, expand_dims, full, reshape
from plugjax.lax.slicing import slice

rules = RuleSet(__name__)

reduce_window_sum_p = Primitive("reduce_window_sum")
reduce_window_max_p = Primitive("reduce_window_max")
reduce_window_min_p = Primitive("reduce_window_min")
reduce_window_p = Primitive("reduce_window", multiple_results=True, structured=True)

Pads = tuple[tuple[int, int], ...]


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Combine the elements of every window by an associative operation.

    Args:
        operand: an array, or a pytree of arrays of one shape that are reduced together.
        init_value: scalars of the same structure: the neutral elements, with which the array is padded too.
        computation: ``(a, b) -> c`` on scalars of that structure, such as ``lax.add`` or ``lax.max``.
        window_dimensions: size of the window along each axis.
        window_strides: distances between windows; 1 by default.
        padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``, or a pair (before, after) for each axis.
        base_dilation: dilation of the array along each axis.
        window_dilation: dilation of the window along each axis.

    Raises:
        ValueError: structures differ, or a named padding does not fit the array's rank.
        TypeError: the window does not fit the array's rank, or initial values are not scalars of the arrays' dtypes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.reduce_window(jnp.arange(6.0), -jnp.inf, lax.max, (2,), (2,), "VALID")
        Array([1., 3., 5.], dtype=float32)
    """
    leaves, inits, tree = flat_operands("reduce_window", operand, init_value)
    for leaf in leaves:
        if dtypes.is_extended(aval_of(leaf).dtype):
            raise KeyDtypeError(f"reduce_window takes numbers, got {aval_of(leaf).str_short()}.")
    window = static_ints("reduce_window", "window_dimensions", window_dimensions)
    rank = len(window)

    def given(what: str, values: Sequence[int] | None) -> tuple[int, ...]:
        return (1,) * rank if values is None else static_ints("reduce_window", what, values)

    params: dict[str, Any] = {
        "window_dimensions": window,
        "window_strides": given("window_strides", window_strides),
        "base_dilation": given("base_dilation", base_dilation),
        "window_dilation": given("window_dilation", window_dilation),
    }
    if isinstance(padding, str):
        shape = aval_of(leaves[0]).shape
        extents = list(map(dilated, window, params["window_dilation"]))
        if len(shape) not in (0, rank) and padding.upper() in ("SAME", "SAME_LOWER"):
            raise ValueError(
                f"reduce_window: window_dimensions {window} must have one entry per axis of {leaves[0].aval.str_short()}."
            )
        # Other ranks and non-positive strides are refused below. The array's dilation is ignored,
        # as in JAX.
        sizes = shape if len(shape) == rank else extents
        steps = [s if s > 0 else 1 for s in params["window_strides"]]
        padding = padtype_to_pads(sizes, extents, steps, padding)
    params["padding"] = tuple(static_ints("reduce_window", "padding", p) for p in padding)
    if len(leaves) == 1:
        found = _monoid(behind_boundary(computation), inits[0])
        if found is not None:
            return pytree.unflatten(tree, [found.bind(leaves[0], **params)])
    program = scalar_program("reduce_window", computation, inits, tree)
    outs = reduce_window_p.bind(*leaves, *inits, jaxpr=program, **params)
    return pytree.unflatten(tree, outs)


def _monoid(computation: Any, init: Any) -> Primitive | None:
    # What users get from a namespace is wrapped.
    computation = inspect.unwrap(computation)
    for operation, primitive, neutral in (
        (add, reduce_window_sum_p, lambda d: 0),
        (max, reduce_window_max_p, lowest),
        (min, reduce_window_min_p, highest),
    ):
        if computation is operation and is_neutral(init, neutral):
            return primitive
    if init.aval.dtype == dtypes.BOOL:
        if computation is bitwise_or and is_neutral(init, lowest):
            return reduce_window_max_p
        if computation is bitwise_and and is_neutral(init, highest):
            return reduce_window_min_p
    return None


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Number of windows along each axis.

    Example:
        >>> reduce_window_shape_tuple((5,), (2,), (2,), ((0, 1),))
        (3,)
    """
    rank = len(operand_shape)
    base = base_dilation or (1,) * rank
    spread = window_dilation or (1,) * rank
    return tuple(
        window_count(dilated(n, b) + lo + hi, dilated(w, d), s)
        for n, b, (lo, hi), w, d, s in zip(
            operand_shape, base, padding, window_dimensions, spread, window_strides, strict=True
        )
    )


def _check(name: str, aval: ShapedArray, params: dict[str, Any]) -> tuple[int, ...]:
    for what in (
        "window_dimensions",
        "window_strides",
        "padding",
        "base_dilation",
        "window_dilation",
    ):
        if len(params[what]) != aval.ndim:
            raise ShapeError(
                f"{name} {what} must have one entry per axis of {aval.str_short()}, got {params[what]}."
            )
        if what != "padding" and any(v <= 0 for v in params[what]):
            raise ShapeError(f"{name} {what} must be positive, got {params[what]}.")
    return reduce_window_shape_tuple(aval.shape, **params)


def _define_aval(primitive: Primitive) -> None:
    @rules.define(abstract_eval, primitive)
    def _aval(x: ShapedArray, **params: Any) -> ShapedArray:
        if primitive is reduce_window_sum_p and x.dtype == dtypes.BOOL:
            raise DtypeError(
                f"{primitive.name} does not accept dtype bool. Convert the operand to int32."
            )
        return x.update(shape=_check(primitive.name, x, params))

    @rules.define(batching_rule, primitive)
    def _batching(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        (bdim,) = dims
        assert bdim is not None
        return primitive.bind(*args, **_with_axis(params, bdim)), bdim


for _p in (reduce_window_sum_p, reduce_window_max_p, reduce_window_min_p):
    _define_aval(_p)


def _with_axis(params: dict[str, Any], axis: int) -> dict[str, Any]:
    """The parameters for an array with one more axis, along which windows are single elements."""
    return {
        name: (*values[:axis], (0, 0) if name == "padding" else 1, *values[axis:])
        if isinstance(values, tuple)
        else values
        for name, values in params.items()
    }


@linear(rules, reduce_window_sum_p)
def _sum_transpose(
    y_bar: Any,
    x: Any,
    *,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: Pads,
    base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...],
) -> tuple[Any]:
    pads = []
    for n, y, w, s, (low, _), b, d in zip(
        x.aval.shape,
        aval_of(y_bar).shape,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
        strict=True,
    ):
        before = dilated(w, d) - low - 1
        pads.append((before, dilated(n, b) + dilated(w, d) - 1 - dilated(y, s) - before))
    return (
        reduce_window_sum_p.bind(
            y_bar,
            window_dimensions=window_dimensions,
            window_strides=base_dilation,
            padding=tuple(pads),
            base_dilation=window_strides,
            window_dilation=window_dilation,
        ),
    )


def _define_extreme_jvp(primitive: Primitive, wins: Callable[[Any, Any], Any], worst: Any) -> None:
    @rules.define(jvp_rule, primitive)
    def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x,), (x_dot,) = primals, tangents
        y = primitive.bind(x, **params)
        if type(x_dot) is Zero:
            return y, Zero(aval_of(y).to_tangent_aval())
        return y, _at(x_dot, _places(stop_gradient_p.bind(x), wins, worst, params))


def _places(
    x: Any, wins: Callable[[Any, Any], Any], worst: Callable[..., Any], params: dict[str, Any]
) -> Any:
    """For each window the place of its extreme element in the flattened array; beyond its end if there is none."""
    aval = aval_of(x)
    places = reshape(broadcasted_iota(INT32, (aval.size,), 0), aval.shape)

    def better(a: Any, b: Any) -> Any:
        (x, i), (y, j) = a, b
        # A nan wins over everything; of equal values the first.
        take_x = bitwise_or(wins(x, y), ne(x, x))
        take_x = bitwise_or(take_x, bitwise_and(eq(x, y), lt(i, j)))
        return select_n_p.bind(take_x, y, x), select_n_p.bind(take_x, j, i)

    init = (np.asarray(worst(aval.dtype), aval.dtype), np.int32(aval.size))
    window, strides = params["window_dimensions"], params["window_strides"]
    return reduce_window(
        (x, places), init, better, window, strides, params["padding"],
        params["base_dilation"], params["window_dilation"],
    )[1]  # fmt: skip


def _at(x: Any, places: Any) -> Any:
    """Elements of the flattened array; zero beyond its end."""
    numbers = GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return gather(
        reshape(x, (aval_of(x).size,)),
        expand_dims(places, (aval_of(places).ndim,)),
        numbers,
        (1,),
        mode=GatherScatterMode.FILL_OR_DROP,
        fill_value=0,
    )


_define_extreme_jvp(reduce_window_max_p, gt, lowest)
_define_extreme_jvp(reduce_window_min_p, lt, highest)


@rules.define(abstract_eval, reduce_window_p)
def _window_avals(*avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
    count = len(avals) // 2
    operands, inits = avals[:count], avals[count:]
    if any(i.shape or i.dtype != a.dtype for a, i in zip(operands, inits, strict=True)):
        raise DtypeError(
            f"reduce_window: initial values must be scalars of the dtypes of {[a.str_short() for a in operands]}, "
            f"got {[a.str_short() for a in inits]}."
        )
    first = operands[0]
    if any(a.shape != first.shape for a in operands):
        raise ShapeError(
            f"reduce_window: operands differ in shape: {[a.str_short() for a in operands]}."
        )
    shape = _check("reduce_window", first, params)
    return [ShapedArray(shape, a.dtype) for a in operands]


@rules.define(batching_rule, reduce_window_p)
def _window_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    jaxpr: ClosedJaxpr,
    **params: Any,
) -> tuple[list[Any], list[int]]:
    count = len(args) // 2
    operands = [materialize(x, d, axis) for x, d in zip(args[:count], dims[:count], strict=True)]
    widened = _with_axis(params, 0)
    if all(d is None for d in dims[count:]):
        return reduce_window_p.bind(*operands, *args[count:], jaxpr=jaxpr, **widened), [0] * count
    starts = [materialize(x, d, axis) for x, d in zip(args[count:], dims[count:], strict=True)]
    rows = [
        _by_windows(
            jaxpr,
            [
                reshape(slice(x, (i, *(0,) * (x.ndim - 1)), (i + 1, *x.shape[1:])), x.shape[1:])
                for x in operands
            ],
            [reshape(slice(s, (i,), (i + 1,)), ()) for s in starts],
            params,
        )
        for i in range(axis.size)
    ]
    return [concatenate([expand_dims(y, (0,)) for y in ys], 0) for ys in zip(*rows, strict=True)], [
        0
    ] * count


def _by_windows(
    jaxpr: ClosedJaxpr, operands: Sequence[Any], inits: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    """The generic reduction in differentiable operations, on an array of all windows' elements."""
    aval = aval_of(operands[0])
    counts = reduce_window_shape_tuple(aval.shape, **params)
    if 0 in counts:
        return [full(counts, 0, aval_of(x).dtype) for x in operands]
    config = [
        (lo, hi, b - 1)
        for (lo, hi), b in zip(params["padding"], params["base_dilation"], strict=True)
    ]
    xs, starts = [*operands], [*inits]
    if aval.size and any(lo > 0 or hi > 0 or between for lo, hi, between in config):
        # Padding must not take part: combining two initial values may have no derivative. An
        # element stands in for it.
        xs = [pad(x, stop_gradient_p.bind(_first(x)), config) for x in operands]
        xs.append(pad(full(aval.shape, True), np.bool_(False), config))
        starts.append(np.bool_(True))
        jaxpr = memoise(jaxpr, "of those present", lambda: of_those_present(jaxpr))
    else:
        xs = [pad(x, init, config) for x, init in zip(operands, inits, strict=True)]
    stacked = []
    for x in xs:
        parts = []
        for offset in itertools.product(*map(range, params["window_dimensions"])):
            start = [o * d for o, d in zip(offset, params["window_dilation"], strict=True)]
            stop = [
                a + (c - 1) * s + 1
                for a, c, s in zip(start, counts, params["window_strides"], strict=True)
            ]
            parts.append(expand_dims(slice(x, start, stop, params["window_strides"]), (0,)))
        stacked.append(concatenate(parts, 0))
    return combined(jaxpr, stacked, starts, (0,))[: len(operands)]


def _first(x: Any) -> Any:
    return reshape(slice(x, (0,) * aval_of(x).ndim, (1,) * aval_of(x).ndim), ())


def of_those_present(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The operation on tuples that end with a validity flag; with one valid operand the result is that operand."""
    count = len(jaxpr.out_avals)

    def operation(*args: Any) -> list[Any]:
        (*xs, x_there), (*ys, y_there) = args[: count + 1], args[count + 1 :]
        left = [select_n_p.bind(x_there, y, x) for x, y in zip(xs, ys, strict=True)]
        right = [select_n_p.bind(y_there, x, y) for x, y in zip(xs, ys, strict=True)]
        both = bitwise_and(x_there, y_there)
        found = eval_closed(jaxpr, *left, *right)
        results = [select_n_p.bind(both, one, z) for one, z in zip(left, found, strict=True)]
        return [*results, bitwise_or(x_there, y_there)]

    there = ShapedArray((), dtypes.BOOL)
    avals = [*jaxpr.in_avals[:count], there, *jaxpr.in_avals[count:], there]
    return stage(operation, avals, jaxpr.jaxpr.debug_name)


@rules.define(jvp_rule, reduce_window_p)
def _window_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any
) -> tuple[list[Any], list[Any]]:
    count = len(primals) // 2

    def fold(*args: Any) -> list[Any]:
        return _by_windows(jaxpr, args[:count], args[count:], params)

    return jvp_flat(fold, primals, tangents)
