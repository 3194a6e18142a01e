"""Values that are to be split over devices alike: ``shard_alike``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import (
    JaxprEqn,
    Primitive,
    ShapedArray,
    Zero,
    as_array,
    aval_of,
    broadcast_axis,
    instantiate,
    moveaxis,
)
from plugjax.extend.execution import Storage, storage
from plugjax.extend.meshes import (
    NamedSharding,
    PartitionSpec,
    sharding_rule,
    spec_of,
    spread_rule,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    impl,
    jvp_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis

rules = RuleSet(__name__)

shard_alike_p = Primitive("shard_alike", multiple_results=True)


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """``x`` and ``y``, which are to be split over devices alike.

    Args:
        x: pytree of arrays.
        y: pytree of the same structure, with arrays of the same shapes.

    Raises:
        ValueError: structures or shapes differ.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental.shard_alike import shard_alike
        >>> x, y = shard_alike(jnp.ones(2), jnp.arange(2))
        >>> y
        Array([0, 1], dtype=int32)
    """
    xs, x_tree = pytree.flatten(x)
    ys, y_tree = pytree.flatten(y)
    if x_tree != y_tree:
        raise ValueError(
            f"shard_alike: Trees should be equal. Got x_tree: {x_tree}, y_tree: {y_tree}."
        )
    pairs = []
    for a, b in zip(xs, ys, strict=True):
        if aval_of(a).shape != aval_of(b).shape:
            raise ValueError(
                f"shard_alike: The leaves shapes of `x` and `y` should match. Got `x` leaf shape: {aval_of(a).shape} and `y` leaf "
                f"shape: {aval_of(b).shape}."
            )
        pairs.append(shard_alike_p.bind(as_array(a, "shard_alike"), as_array(b, "shard_alike")))
    return (
        pytree.unflatten(x_tree, [a for a, _ in pairs]),
        pytree.unflatten(y_tree, [b for _, b in pairs]),
    )


@rules.define(abstract_eval, shard_alike_p)
def _avals(x: ShapedArray, y: ShapedArray) -> list[ShapedArray]:
    return [x, y]


@rules.define(sharding_rule, shard_alike_p)
def _specs(avals: Sequence[ShapedArray], results: Any) -> list[PartitionSpec]:
    return [spec_of(aval) for aval in avals]


@rules.define(spread_rule, shard_alike_p)
def _spread(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
    ndim = eqn.outvars[0].aval.ndim
    cut = [s for s in operands if any(s.entries(ndim))]
    return [(cut or operands)[0]] * 2


@rules.define(impl, shard_alike_p)
def _impl(x: Any, y: Any) -> list[Any]:
    return [x, y]


@rules.define(storage, shard_alike_p)
def _storage(_: Any) -> Storage:
    return Storage.MOVES


@rules.define(jvp_rule, shard_alike_p)
def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    outs = shard_alike_p.bind(*primals)
    if any(type(t) is Zero for t in tangents):
        return outs, list(tangents)
    return outs, shard_alike_p.bind(*tangents)


@rules.define(transpose_rule, shard_alike_p)
def _transpose(bars: Sequence[Any], *_: Any) -> list[Any]:
    if any(type(bar) is Zero for bar in bars):
        return list(bars)
    return shard_alike_p.bind(*map(instantiate, bars))


@rules.define(batching_rule, shard_alike_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[list[Any], list[int]]:
    moved = [
        broadcast_axis(x, axis.size, 0, x.aval.shape) if d is None else moveaxis(x, d, 0)
        for x, d in zip(args, dims, strict=True)
    ]
    return shard_alike_p.bind(*moved), [0, 0]
