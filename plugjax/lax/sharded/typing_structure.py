"""How types say results are spread: elementwise operations, and those that move, join and reduce axes.

Axes that an operation keeps stay cut as they are. Where an operation cannot say how its result is spread without moving data, it is
refused, as in JAX, and ``out_sharding`` or ``reshard`` says it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from plugjax.extend.core import (
    ShapedArray,
    broadcast_in_dim_p,
    convert_element_type_p,
    optimization_barrier_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    transpose_p,
)
from plugjax.extend.meshes import (
    PartitionSpec,
    ShardingTypeError,
    broadcast_spec,
    names_of,
    sharding_rule,
    spec_of,
)
from plugjax.extend.rules import RuleSet
from plugjax.lax.approximate_top_k import approx_top_k_p
from plugjax.lax.broadcasting import tile_p
from plugjax.lax.collectives import (
    all_gather_invariant_p,
    all_gather_p,
    all_to_all_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    pvary_p,
    reduce_scatter_p,
)
from plugjax.lax.conversion import bitcast_convert_type_p
from plugjax.lax.folds import reduce_p
from plugjax.lax.joining import concatenate_p, pad_p, slice_p, split_p, stack_p, unstack_p
from plugjax.lax.reduction import (
    argmax_p,
    argmin_p,
    cumlogsumexp_p,
    cummax_p,
    cummin_p,
    cumprod_p,
    cumsum_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_xor_p,
)
from plugjax.lax.selection import clamp_p
from plugjax.lax.shape import rev_p, squeeze_p
from plugjax.lax.summands import (
    CASTS,
    all_gather_reduced_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
)

rules = RuleSet(__name__)

Spec = PartitionSpec


def same_cuts(operand: ShapedArray, shape: Sequence[int], name: str) -> Spec:
    """The operand's spec for a result whose axes are the operand's, in other sizes.

    Raises:
        ShardingTypeError: an axis that is cut has a size that cannot be cut so.
    """
    spec = spec_of(operand)
    for size, new, entry in zip(operand.shape, shape, spec, strict=True):
        count = parts(operand, entry)
        if size != new and new % count:
            raise ShardingTypeError(
                f"{name} on sharded dims where out dim ({new}) is not divisible by mesh axes ({count}) with spec ({entry}) is not "
                f"implemented. Got input type={operand.str_short(True)} and output shape={tuple(shape)}. Reshard the operand first."
            )
    return spec


def parts(operand: ShapedArray, entry: Any) -> int:
    """Into how many parts an entry of an operand's spec cuts an axis."""
    names = names_of(entry)
    if not names:
        return 1
    sizes = dict(operand.spread.mesh.shape_tuple)
    return math.prod(sizes[name] for name in names)


def without(spec: Spec, axes: Sequence[int]) -> Spec:
    """A spec without the entries of some axes."""
    return spec.update(partitions=tuple(e for i, e in enumerate(spec) if i not in axes))


def _operand(function: Callable[..., Spec]) -> Callable[..., Spec]:
    """A rule from a function of the first operand and the parameters."""

    def rule(avals: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any) -> Spec:
        return function(avals[0], **params)

    return rule


rules.define(sharding_rule, convert_element_type_p, select_n_p)(broadcast_spec)


@rules.define(sharding_rule, optimization_barrier_p)
def _each(avals: Sequence[ShapedArray], results: Sequence[ShapedArray], **_: Any) -> list[Spec]:
    return [spec_of(aval) for aval in avals]


def _shown(aval: ShapedArray) -> str:
    return str(aval.str_short(True))


@rules.define(sharding_rule, transpose_p)
@_operand
def _transpose(x: ShapedArray, *, permutation: Sequence[int]) -> Spec:
    spec = spec_of(x)
    return spec.update(partitions=tuple(spec[axis] for axis in permutation))


@rules.define(sharding_rule, broadcast_in_dim_p)
@_operand
def _broadcast(
    x: ShapedArray, *, shape: Sequence[int], broadcast_dimensions: Any, **_: Any
) -> Spec:
    spec = spec_of(x)
    found: list[Any] = [None] * len(shape)
    for axis, target in enumerate(broadcast_dimensions):
        found[target] = spec[axis]
    return spec.update(partitions=tuple(found))


@rules.define(sharding_rule, squeeze_p)
@_operand
def _squeeze(x: ShapedArray, *, dimensions: Sequence[int]) -> Spec:
    return without(spec_of(x), dimensions)


@rules.define(sharding_rule, rev_p)
@_operand
def _rev(x: ShapedArray, **_: Any) -> Spec:
    return spec_of(x)


@rules.define(sharding_rule, clamp_p)
def _clamp(avals: Sequence[ShapedArray], results: Any) -> Spec:
    return spec_of(avals[1])


@rules.define(sharding_rule, tile_p)
@_operand
def _tile(x: ShapedArray, *, reps: Sequence[int]) -> Spec:
    for axis, (count, entry) in enumerate(zip(reps, spec_of(x), strict=True)):
        if count != 1 and entry is not None:
            raise ShardingTypeError(
                f"Operand cannot be sharded on dimension {axis} when the tiling is non-trivial. Got input type: {_shown(x)} with "
                f"reps: {tuple(reps)}. Reshard it."
            )
    return spec_of(x)


@rules.define(sharding_rule, slice_p)
def _slice(avals: Sequence[ShapedArray], results: Sequence[ShapedArray], **_: Any) -> Spec:
    return same_cuts(avals[0], results[0].shape, "slicing")


@rules.define(sharding_rule, pad_p)
def _pad(avals: Sequence[ShapedArray], results: Sequence[ShapedArray], **_: Any) -> Spec:
    return same_cuts(avals[0], results[0].shape, "padding")


@rules.define(sharding_rule, bitcast_convert_type_p)
def _bitcast(avals: Sequence[ShapedArray], results: Sequence[ShapedArray], **_: Any) -> Spec:
    spec = spec_of(avals[0])
    ndim = results[0].ndim
    return spec.update(partitions=(*spec, None)[:ndim])


# Collectives, along axes that types inside do not name ---------------------------------------------


@rules.define(
    sharding_rule,
    psum_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    pvary_p,
    all_to_all_p,
    unreduced_psum_p,
    *CASTS,
)
@_operand
def _collective(x: ShapedArray, **_: Any) -> Spec:
    return spec_of(x)


@rules.define(sharding_rule, all_gather_p, all_gather_invariant_p, all_gather_reduced_p)
@_operand
def _all_gather(x: ShapedArray, *, all_gather_dimension: int, tiled: bool, **_: Any) -> Spec:
    spec, place = spec_of(x), all_gather_dimension
    return spec if tiled else Spec(*spec[:place], None, *spec[place:])


@rules.define(sharding_rule, reduce_scatter_p, unreduced_reduce_scatter_p)
@_operand
def _reduce_scatter(x: ShapedArray, *, scatter_dimension: int, tiled: bool, **_: Any) -> Spec:
    return spec_of(x) if tiled else without(spec_of(x), (scatter_dimension,))


# Reductions ---------------------------------------------------------------------------------------


@rules.define(
    sharding_rule, reduce_sum_p, reduce_max_p, reduce_min_p, reduce_prod_p, reduce_and_p, reduce_or_p, reduce_xor_p, argmax_p, argmin_p
)  # fmt: skip
@_operand
def _reduce(x: ShapedArray, *, axes: Sequence[int], **_: Any) -> Spec:
    return without(spec_of(x), axes)


@rules.define(sharding_rule, reduce_p)
def _reduce_several(
    avals: Sequence[ShapedArray], results: Sequence[ShapedArray], *, dimensions: Any, **_: Any
) -> list[Spec]:
    operands = avals[: len(results)]
    return [without(spec_of(x), dimensions) for x in operands]


@rules.define(sharding_rule, cumsum_p, cumprod_p, cummax_p, cummin_p, cumlogsumexp_p)
@_operand
def _cumulative(x: ShapedArray, *, axis: int, **_: Any) -> Spec:
    return uncut(x, axis, "Input should be unsharded over the axis being reduced.")


def uncut(x: ShapedArray, axis: int, words: str) -> Spec:
    """The spec of an operand, one axis of which must be whole."""
    spec = spec_of(x)
    if spec[axis] is not None:
        raise ShardingTypeError(
            f"{words} Got input type={_shown(x)} and axis={axis}. Reshard it so that the axis is whole."
        )
    return spec


@rules.define(sharding_rule, approx_top_k_p)
def _approx_top_k(
    avals: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any
) -> list[Spec]:
    axis = params["reduction_dimension"]
    return [uncut(avals[0], axis, "The reduction dimension should be unsharded.")] * len(results)


# Joining and cutting ------------------------------------------------------------------------------


def _common(avals: Sequence[ShapedArray]) -> Spec:
    first = spec_of(avals[0])
    if any(spec_of(aval) != first for aval in avals):
        raise ShardingTypeError(
            f"All operands should have the same sharding. Got {', '.join(map(_shown, avals))}. Reshard those that differ."
        )
    return first


@rules.define(sharding_rule, concatenate_p)
def _concatenate(avals: Sequence[ShapedArray], results: Any, **_: Any) -> Spec:
    return _common(avals)


@rules.define(sharding_rule, stack_p)
def _stack(avals: Sequence[ShapedArray], results: Any, *, axis: int) -> Spec:
    spec = _common(avals)
    return spec.update(partitions=(*spec[:axis], None, *spec[axis:]))


@rules.define(sharding_rule, unstack_p)
def _unstack(avals: Sequence[ShapedArray], results: Sequence[Any], *, axis: int) -> list[Spec]:
    spec = uncut(avals[0], axis, "unstack operand cannot be sharded on the unstacking axis.")
    return [without(spec, (axis,))] * len(results)


@rules.define(sharding_rule, split_p)
def _split(avals: Sequence[ShapedArray], results: Sequence[ShapedArray], **_: Any) -> list[Spec]:
    return [same_cuts(avals[0], out.shape, "split") for out in results]


# Reshaping ----------------------------------------------------------------------------------------


@rules.define(sharding_rule, reshape_p)
def _reshape(avals: Sequence[ShapedArray], results: Sequence[ShapedArray], **params: Any) -> Spec:
    """Cuts of axes that stay; of one that is divided, or of several that are joined, if each block stays where it is."""
    x, out = avals[0], results[0]
    spec = spec_of(x)
    if all(entry is None for entry in spec):
        return spec.update(partitions=(None,) * out.ndim)
    kept = [(size, entry) for size, entry in zip(x.shape, spec, strict=True) if size != 1]
    if [size for size, _ in kept] == [size for size in out.shape if size != 1]:
        entries = iter([entry for _, entry in kept])
        found = [None if size == 1 else next(entries) for size in out.shape]
        return spec.update(partitions=tuple(found))
    if params.get("dimensions") is not None:
        _refuse_reshape(x, out)
    found = []
    for own, new in _groups(x, out):
        found += _regrouped(x, out, own, new)
    return spec.update(partitions=tuple(found))


def _groups(x: ShapedArray, out: ShapedArray) -> list[tuple[range, range]]:
    """Axes that become axes."""
    pairs: list[tuple[range, range]] = []
    i = j = 0
    while i < x.ndim or j < out.ndim:
        start, first = i, j
        a = x.shape[i] if i < x.ndim else 1
        b = out.shape[j] if j < out.ndim else 1
        i, j = min(i + 1, x.ndim), min(j + 1, out.ndim)
        while a != b:
            if a < b and i < x.ndim:
                a *= x.shape[i]
                i += 1
            elif b < a and j < out.ndim:
                b *= out.shape[j]
                j += 1
            else:
                _refuse_reshape(x, out)
        pairs.append((range(start, i), range(first, j)))
    return pairs


def _regrouped(x: ShapedArray, out: ShapedArray, own: range, new: range) -> list[Any]:
    spec = spec_of(x)
    if len(own) == len(new) == 1:
        return [spec[own[0]]]
    names = [list(names_of(spec[axis])) for axis in own if x.shape[axis] != 1]
    if not any(names):
        return [None] * len(new)
    if len(own) > 1 and len(new) > 1:
        _refuse_reshape(x, out)
    # An axis is cut after those that vary more slowly only if these are cut into single elements' blocks, as JAX asks for.
    while names and not names[-1]:
        names.pop()
    if any(not each for each in names):
        _refuse_reshape(x, out)
    left = [name for each in names for name in each]
    sizes = dict(x.spread.mesh.shape_tuple)
    found: list[Any] = []
    for axis in new:
        size, taken = out.shape[axis], []
        while size > 1 and left:
            size, rest = divmod(size, sizes[left[0]])
            if rest:
                _refuse_reshape(x, out)
            taken.append(left.pop(0))
        found.append(tuple(taken) or None)
    if left:
        _refuse_reshape(x, out)
    return found


def _refuse_reshape(x: ShapedArray, out: ShapedArray) -> NoReturn:
    raise ShardingTypeError(
        "This reshape is not supported. Please specify the sharding of the output via the `out_sharding` argument of "
        f"jax.lax.reshape. Got operand type: {_shown(x)}, new sizes: {out.shape}"
    )
