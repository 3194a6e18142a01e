"""The collective primitives: operations along a named axis of ``vmap``.

Inside ``vmap(f, axis_name='i')`` a value x stands for instances x_0 ... x_{n-1}. A collective computes each instance of
its result from all instances of its operand:

    psum            y_k = sum_j x_j                        pmax, pmin likewise
    ppermute        y_k = x_j for each pair (j, k), else 0
    all_gather      y_k = [x_0, ..., x_{n-1}]
    reduce_scatter  y_k = block k of sum_j x_j
    all_to_all      y_k = [block k of x_0, ..., block k of x_{n-1}]
    axis_index      y_k = k

All but ``pmax``, ``pmin`` and ``axis_index`` are linear in the family (x_j); transposition exchanges j and k: psum
stays psum, ``ppermute`` inverts its pairs, ``all_gather`` and ``reduce_scatter`` are one another's transpose,
``all_to_all`` swaps its two axes. The batching rule of the axis with that name uses ordinary operations, and no
collective remains. The rule of another axis shifts the positional axes.

A primitive works along one name, reductions along several. The functions in ``parallel`` that take several names
combine them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import Primitive, ShapedArray, Zero, aval_of
from plugjax.extend.meshes import reduced_axes, unreduced_axes
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    axis_names_rule,
    batching_rule,
    impl,
    jvp_rule,
    varying_rule,
)
from plugjax.extend.transforms import Axis, materialize, named_axis_size
from plugjax.lax.arithmetic import div, mul
from plugjax.lax.comparison import eq
from plugjax.lax.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from plugjax.lax.families import convert, linear, scalar, zero_derivative
from plugjax.lax.gather_scatter import gather
from plugjax.lax.joining import concatenate
from plugjax.lax.reduction import reduce_max, reduce_min, reduce_sum
from plugjax.lax.shape import expand_dims, iota, reshape, squeeze, transpose
from plugjax.lax.slicing import dynamic_slice_in_dim, index_in_dim

rules = RuleSet(__name__)

Names: TypeAlias = frozenset[Any]

pvary_p = Primitive("pvary")
psum_p = Primitive("psum")
pmax_p = Primitive("pmax")
pmin_p = Primitive("pmin")
ppermute_p = Primitive("ppermute")
all_gather_p = Primitive("all_gather")
reduce_scatter_p = Primitive("reduce_scatter")
all_gather_invariant_p = Primitive("all_gather_invariant")
all_to_all_p = Primitive("all_to_all")
axis_index_p = Primitive("axis_index")

# What the primitives share ------------------------------------------------------------------------

_REDUCTIONS = (psum_p, pmax_p, pmin_p)
_ALONG_ONE = (
    ppermute_p, all_gather_p, all_gather_invariant_p, reduce_scatter_p, all_to_all_p, axis_index_p,
)  # fmt: skip


@rules.define(axis_names_rule, *_REDUCTIONS)
def names_of_reduction(*, axes: tuple[Any, ...], **_: Any) -> tuple[Any, ...]:
    """The axes that a reduction or a cast is along."""
    return axes


@rules.define(axis_names_rule, *_ALONG_ONE)
def names_of_exchange(*, axis_name: Any, **_: Any) -> tuple[Any, ...]:
    """The axis that an exchange is along."""
    return axis_name if isinstance(axis_name, tuple) else (axis_name,)


def _varying_along(
    primitive: Primitive,
    names_of: Callable[..., Iterable[Any]],
    rule: Callable[[Names, Names, Any], Names],
) -> None:
    @rules.define(varying_rule, primitive)
    def _varying(names: Names, **params: Any) -> Names:
        axes = frozenset(names_of(**params))
        _check_unmarked(primitive.name, names, axes)
        return rule(names, axes, params.get("axis_index_groups"))


def _equal(names: Names, axes: Names, groups: Any) -> Names:
    return names if groups is not None else names - axes


def _differing(names: Names, axes: Names, groups: Any) -> Names:
    return names | axes


for _reduction_p in _REDUCTIONS:
    _varying_along(_reduction_p, names_of_reduction, _equal)
_varying_along(all_gather_invariant_p, names_of_exchange, _equal)
for _exchange_p in (ppermute_p, all_gather_p, reduce_scatter_p, all_to_all_p):
    _varying_along(_exchange_p, names_of_exchange, _differing)
_varying_along(pvary_p, names_of_reduction, _differing)


@rules.define(varying_rule, axis_index_p)
def _index_varying(*, axis_name: Any) -> Names:
    return frozenset((axis_name,))


def _check_unmarked(who: str, names: Names, axes: Names) -> None:
    """Raise unless types say at most that values vary along some axes.

    Raises:
        ValueError: they say more.
    """
    for word, found in (("unreduced", unreduced_axes(names)), ("reduced", reduced_axes(names))):
        if found & axes:
            raise ValueError(
                f"{who} cannot accept args which are {word}: they are so along {sorted(found, key=str)}, got axes={sorted(axes, key=str)}. "
                "lax.psum takes the sums of unreduced values, lax.pcast(x, axes, to='varying') frees reduced ones."
            )


rules.absent(
    impl,
    *_REDUCTIONS,
    *_ALONG_ONE,
    because="an axis name means the instances of a vmap or the devices of a mesh: one value is not enough",
)


def refuse_groups(groups: Any) -> None:
    """Raise unless there are no groups."""
    if groups is not None:
        raise NotImplementedError(
            "axis_index_groups is not supported under vmap. Split the axis into two, and map over both by name."
        )


def _after(axis: int, bdim: int) -> int:
    """An axis after a batch axis is inserted at ``bdim``."""
    return axis + (bdim <= axis)


# Reductions ---------------------------------------------------------------------------------------


@rules.define(abstract_eval, *_REDUCTIONS)
def reduced_aval(x: ShapedArray, *, axes: tuple[Any, ...], **_: Any) -> ShapedArray:
    """The type of what is reduced."""
    for name in axes:
        named_axis_size(name)
    return x.strip_weak_type()


def reduction_batching(
    primitive: Primitive,
    reducer: Callable[..., Any],
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    axes: tuple[Any, ...],
    **params: Any,
) -> tuple[Any, int | None]:
    """The batching rule of a primitive that reduces over axes."""
    (x,), (bdim,), groups = args, dims, params.get("axis_index_groups")
    if axis.name not in axes:
        return primitive.bind(x, axes=axes, **params), bdim
    if groups is not None and axis.of_mesh and axes == (axis.name,):
        return _within_groups(reducer, materialize(x, bdim, axis), groups), 0
    refuse_groups(groups)
    if bdim is not None:
        x = reducer(x, (bdim,))
    elif reducer is reduce_sum:
        x = mul(x, scalar(axis.size, x))
    left = tuple(name for name in axes if name != axis.name)
    return (primitive.bind(x, axes=left, **params) if left else x), None


def _within_groups(reducer: Callable[..., Any], x: Any, groups: Sequence[Sequence[int]]) -> Any:
    """Reductions within groups of the devices of a mesh, whose values lie along the axis in front."""
    found: dict[int, Any] = {}
    for group in groups:
        parts = [index_in_dim(x, i, 0) for i in group]
        reduced = expand_dims(reducer(concatenate(parts, 0), (0,)), (0,))
        found.update(dict.fromkeys(group, reduced))
    return concatenate([found[i] for i in sorted(found)], 0)


def _in_groups(rule: Callable[..., Any], axis: Axis, x: Any, params: dict[str, Any]) -> Any:
    """A batching rule within groups of the devices of a mesh, whose values lie along the axis in front."""
    groups = params["axis_index_groups"]
    if not axis.of_mesh:
        refuse_groups(groups)
    found: dict[int, Any] = {}
    for group in groups:
        among = Axis(len(group), axis.name)
        part = concatenate([index_in_dim(x, i, 0) for i in group], 0)
        out, out_dim = rule(among, (part,), (0,), **{**params, "axis_index_groups": None})
        out = materialize(out, out_dim, among)
        found.update((i, index_in_dim(out, place, 0)) for place, i in enumerate(group))
    return concatenate([found[i] for i in sorted(found)], 0), 0


for _reduction_p, _reducer in zip(_REDUCTIONS, (reduce_sum, reduce_max, reduce_min), strict=True):
    rules.define(batching_rule, _reduction_p)(partial(reduction_batching, _reduction_p, _reducer))


@linear(rules, psum_p)
def _psum_transpose(
    bar: Any, x: Any, *, axes: tuple[Any, ...], axis_index_groups: Any
) -> tuple[Any]:
    # Where the operand differs along an axis of a mesh, the cotangent of the sum, which does not, is that of each part.
    left = tuple(name for name in axes if name not in x.aval.vma)
    if left:
        bar = psum_p.bind(bar, axes=left, axis_index_groups=axis_index_groups)
    return (bar,)


# Marks --------------------------------------------------------------------------------------------


def marking(rules: RuleSet, primitive: Primitive) -> None:
    """Rules of a primitive that changes a type along axes of a mesh alone: values, and the place of a batch, stay."""
    rules.define(abstract_eval, primitive)(lambda x, *, axes: x)
    rules.define(impl, primitive)(lambda x, *, axes: x)

    @rules.define(batching_rule, primitive)
    def _batching(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, axes: tuple[Any, ...]
    ) -> tuple[Any, int | None]:
        return primitive.bind(args[0], axes=axes), dims[0]


marking(rules, pvary_p)
# The cotangent is summed where it reaches the operand, which does not differ.
linear(rules, pvary_p)(lambda bar, x, *, axes: (bar,))


def _extremum_derivative(primitive: Primitive) -> None:
    @rules.define(jvp_rule, primitive)
    def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x,), (x_dot,) = primals, tangents
        y = primitive.bind(x, **params)
        if type(x_dot) is Zero:
            return y, x_dot
        chosen = convert(eq(x, y), aval_of(x).dtype)
        count = psum_p.bind(chosen, **params)
        return y, div(psum_p.bind(mul(x_dot, chosen), **params), count)


_extremum_derivative(pmax_p)
_extremum_derivative(pmin_p)


# Permutation --------------------------------------------------------------------------------------


@rules.define(abstract_eval, ppermute_p)
def _ppermute_aval(x: ShapedArray, *, axis_name: tuple[Any, ...], perm: Any) -> ShapedArray:
    named_axis_size(axis_name[0])
    return x


@linear(rules, ppermute_p)
def _ppermute_transpose(
    bar: Any, x: Any, *, axis_name: tuple[Any, ...], perm: tuple[tuple[int, int], ...]
) -> tuple[Any]:
    inverse = tuple((destination, source) for source, destination in perm)
    return (ppermute_p.bind(bar, axis_name=axis_name, perm=inverse),)


@rules.define(batching_rule, ppermute_p)
def _ppermute_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    axis_name: tuple[Any, ...],
    perm: tuple[tuple[int, int], ...],
) -> tuple[Any, int | None]:
    (x,), (bdim,) = args, dims
    if axis.name not in axis_name:
        return ppermute_p.bind(x, axis_name=axis_name, perm=perm), bdim
    if bdim is None and len(perm) == axis.size:
        return x, None
    x = materialize(x, bdim, axis)
    # A destination without a source reads out of bounds, and gets zeros.
    sources = np.full((axis.size, 1), axis.size, np.int32)
    for source, destination in perm:
        sources[destination] = source
    shape = aval_of(x).shape
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,))
    mode = GatherScatterMode.FILL_OR_DROP
    return gather(x, sources, numbers, (1, *shape[1:]), mode=mode, fill_value=0), 0


# Gathering and scattering -------------------------------------------------------------------------


@rules.define(abstract_eval, all_gather_p, all_gather_invariant_p)
def gathered_aval(
    x: ShapedArray,
    *,
    all_gather_dimension: int,
    axis_name: tuple[Any, ...],
    axis_size: int,
    tiled: bool,
    **_: Any,
) -> ShapedArray:
    """The type of what is gathered."""
    named_axis_size(axis_name[0])
    shape, place = x.shape, all_gather_dimension
    if tiled:
        return x.update(shape=(*shape[:place], shape[place] * axis_size, *shape[place + 1 :]))
    return x.update(shape=(*shape[:place], axis_size, *shape[place:]))


@rules.define(abstract_eval, reduce_scatter_p)
def scattered_aval(
    x: ShapedArray,
    *,
    scatter_dimension: int,
    axis_name: tuple[Any, ...],
    axis_size: int,
    tiled: bool,
    **_: Any,
) -> ShapedArray:
    """The type of a part of a sum."""
    named_axis_size(axis_name[0])
    shape, place = x.shape, scatter_dimension
    left = (shape[place] // axis_size,) if tiled else ()
    return x.update(shape=(*shape[:place], *left, *shape[place + 1 :]))


@linear(rules, all_gather_p)
def _all_gather_transpose(
    bar: Any, x: Any, *, all_gather_dimension: int, **params: Any
) -> tuple[Any]:
    return (reduce_scatter_p.bind(bar, scatter_dimension=all_gather_dimension, **params),)


@linear(rules, reduce_scatter_p)
def _reduce_scatter_transpose(
    bar: Any, x: Any, *, scatter_dimension: int, **params: Any
) -> tuple[Any]:
    return (all_gather_p.bind(bar, all_gather_dimension=scatter_dimension, **params),)


@linear(rules, all_gather_invariant_p)
def _all_gather_invariant_transpose(
    bar: Any,
    x: Any,
    *,
    all_gather_dimension: int,
    axis_name: tuple[Any, ...],
    axis_size: int,
    tiled: bool,
    **_: Any,
) -> tuple[Any]:
    if not x.aval.vma.issuperset(axis_name):
        scattered = reduce_scatter_p.bind(
            bar,
            scatter_dimension=all_gather_dimension,
            axis_index_groups=None,
            axis_name=axis_name,
            axis_size=axis_size,
            tiled=tiled,
        )
        return (scattered,)
    # All devices have one cotangent, and each takes that of its own part.
    shape, place = aval_of(bar).shape, all_gather_dimension
    size = shape[place] // axis_size if tiled else 1
    start = mul(axis_index_p.bind(axis_name=axis_name[0]), np.int32(size))
    part = dynamic_slice_in_dim(bar, start, size, place)
    return (part if tiled else squeeze(part, (place,)),)


def gather_batching(
    primitive: Primitive,
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    all_gather_dimension: int,
    axis_name: tuple[Any, ...],
    tiled: bool,
    **params: Any,
) -> tuple[Any, int | None]:
    """The batching rule of a primitive that gathers."""
    (x,), (bdim,), place = args, dims, all_gather_dimension
    if axis.name in axis_name and params.get("axis_index_groups") is not None:
        params |= {"all_gather_dimension": place, "axis_name": axis_name, "tiled": tiled}
        return _in_groups(
            partial(gather_batching, primitive), axis, materialize(x, bdim, axis), params
        )
    if axis.name in axis_name:
        x = materialize(x, bdim, axis, place)
        if tiled:
            shape = aval_of(x).shape
            x = reshape(x, (*shape[:place], axis.size * shape[place + 1], *shape[place + 2 :]))
        return x, None
    if bdim is not None:
        place = _after(place, bdim)
        bdim += place <= bdim and not tiled
    params = {**params, "axis_name": axis_name, "tiled": tiled}
    return primitive.bind(x, all_gather_dimension=place, **params), bdim


for _gather_p in (all_gather_p, all_gather_invariant_p):
    rules.define(batching_rule, _gather_p)(partial(gather_batching, _gather_p))


def scatter_batching(
    primitive: Primitive,
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    scatter_dimension: int,
    axis_name: tuple[Any, ...],
    tiled: bool,
    **params: Any,
) -> tuple[Any, int | None]:
    """The batching rule of a primitive that gives each instance its part of a sum."""
    (x,), (bdim,), place = args, dims, scatter_dimension
    if axis.name in axis_name and params.get("axis_index_groups") is not None:
        params |= {"scatter_dimension": place, "axis_name": axis_name, "tiled": tiled}
        return _in_groups(
            partial(scatter_batching, primitive), axis, materialize(x, bdim, axis), params
        )
    if axis.name in axis_name:
        x = mul(x, scalar(axis.size, x)) if bdim is None else reduce_sum(x, (bdim,))
        if tiled:
            shape = aval_of(x).shape
            blocks = (axis.size, shape[place] // axis.size)
            x = reshape(x, (*shape[:place], *blocks, *shape[place + 1 :]))
        return x, place
    if bdim is not None:
        place = _after(place, bdim)
        bdim -= place < bdim and not tiled
    params = {**params, "axis_name": axis_name, "tiled": tiled}
    return primitive.bind(x, scatter_dimension=place, **params), bdim


rules.define(batching_rule, reduce_scatter_p)(partial(scatter_batching, reduce_scatter_p))


# Exchange -----------------------------------------------------------------------------------------


@rules.define(abstract_eval, all_to_all_p)
def _all_to_all_aval(
    x: ShapedArray, *, axis_name: Any, axis_size: int, concat_axis: int, split_axis: int, **_: Any
) -> ShapedArray:
    named_axis_size(axis_name)
    shape = list(x.shape)
    shape[split_axis] //= axis_size
    shape[concat_axis] *= axis_size
    return ShapedArray(tuple(shape), x.dtype)


@linear(rules, all_to_all_p)
def _all_to_all_transpose(
    bar: Any, x: Any, *, concat_axis: int, split_axis: int, **params: Any
) -> tuple[Any]:
    return (all_to_all_p.bind(bar, concat_axis=split_axis, split_axis=concat_axis, **params),)


@rules.define(batching_rule, all_to_all_p)
def _all_to_all_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    axis_name: Any,
    concat_axis: int,
    split_axis: int,
    **params: Any,
) -> tuple[Any, int | None]:
    (x,), (bdim,) = args, dims
    if axis.name != axis_name:
        if bdim is not None:
            split_axis, concat_axis = _after(split_axis, bdim), _after(concat_axis, bdim)
        params = {**params, "concat_axis": concat_axis, "split_axis": split_axis}
        return all_to_all_p.bind(x, axis_name=axis_name, **params), bdim
    x = materialize(x, bdim, axis)
    if params["axis_index_groups"] is not None:
        params |= {"axis_name": axis_name, "concat_axis": concat_axis, "split_axis": split_axis}
        return _in_groups(_all_to_all_batching, axis, x, params)
    source, *shape = aval_of(x).shape
    blocks = (axis.size, shape[split_axis] // axis.size)
    x = reshape(x, (source, *shape[:split_axis], *blocks, *shape[split_axis + 1 :]))
    # Axes are now source, shape[:split], destination, shape[split:]. The destination becomes the
    # batch axis; the source moves in front of the axis to concatenate along.
    destination = split_axis + 1
    kept = [i for i in range(1, len(shape) + 2) if i != destination]
    x = transpose(x, (destination, *kept[:concat_axis], 0, *kept[concat_axis:]))
    shape[split_axis] //= axis.size
    shape[concat_axis] *= axis.size
    return reshape(x, (axis.size, *shape)), 0


# Index --------------------------------------------------------------------------------------------


@rules.define(abstract_eval, axis_index_p)
def _axis_index_aval(*, axis_name: Any) -> ShapedArray:
    named_axis_size(axis_name)
    return ShapedArray((), dtypes.INT32)


zero_derivative(rules, axis_index_p)


@rules.define(batching_rule, axis_index_p)
def _axis_index_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, axis_name: Any
) -> tuple[Any, int | None]:
    if axis.name != axis_name:
        return axis_index_p.bind(axis_name=axis_name), None
    return iota(np.int32, axis.size), 0
