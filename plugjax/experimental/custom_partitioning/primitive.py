"""The equation of a function that says how it is split: it stands for the function.

Where the backend's compiler splits programs, its lowering takes what is said; elsewhere the function runs whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plugjax.experimental.custom_partitioning.factors import factors_of
from plugjax.experimental.custom_partitioning.sharding_rule import SdyShardingRule
from plugjax.extend.core import (
    ClosedJaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Tracer,
    eval_closed,
    moveaxis,
)
from plugjax.extend.meshes import NamedSharding, spread_by, spread_rule
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, expand_rule
from plugjax.extend.transforms import Axis, Kept, batch_jaxpr
from plugjax.lax.callback import Opaque

rules = RuleSet(__name__)

custom_partitioning_p = Primitive("custom_partitioning", multiple_results=True, structured=True)


@dataclass(frozen=True)
class Partitioner:
    """What gives the function of each device.

    Attributes:
        function: as ``def_partition`` takes it.
        compiled: whether the program is about to be compiled.
    """

    function: Opaque
    compiled: bool = False

    def __repr__(self) -> str:
        return repr(self.function)


@rules.define(abstract_eval, custom_partitioning_p)
def _avals(*_: ShapedArray, call: ClosedJaxpr, **__: Any) -> list[ShapedArray]:
    return call.out_avals


@rules.define(expand_rule, custom_partitioning_p)
def _expand(
    *, call: ClosedJaxpr, partition: Partitioner, **params: Any
) -> Kept | Callable[..., list[Any]]:
    if partition.compiled:
        return Kept(call, inline=False)

    def run(*args: Any) -> list[Any]:
        if not any(isinstance(x, Tracer) for x in args):
            return eval_closed(call, *args)
        kept = replace(partition, compiled=True)
        found: list[Any] = custom_partitioning_p.bind(*args, call=call, partition=kept, **params)
        return found

    return run


@rules.define(batching_rule, custom_partitioning_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, call: ClosedJaxpr, **_: Any
) -> tuple[list[Any], list[int | None]]:
    if not axis.of_mesh:
        raise NotImplementedError(
            "Batching rule for 'custom_partitioning' not implemented: the rule for its split is for one instance."
        )
    # Devices that share one memory: the function runs whole on each.
    moved = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    program, batched = batch_jaxpr(call, axis, [d is not None for d in dims])
    return eval_closed(program, *moved), [0 if b else None for b in batched]


@rules.define(spread_rule, custom_partitioning_p)
def _spread(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
    """Axes of results are cut as those of operands with their first factor."""
    rule = eqn.params["sharding_rule"].value
    if not operands or not isinstance(rule, SdyShardingRule):
        return [None] * len(eqn.outvars)
    shapes, out_shapes = ([v.aval.shape for v in vs] for vs in (eqn.invars, eqn.outvars))
    factors = factors_of(rule, shapes, out_shapes)
    cuts: dict[str, tuple[Any, ...]] = {}
    for sharding, axes in zip(operands, factors.operands, strict=True):
        for names, cut in zip(axes, sharding.entries(len(axes)), strict=True):
            cuts[names[0]] = cuts.get(names[0]) or cut
    return [
        spread_by(operands[0], [cuts.get(names[0], ()) for names in axes], shape)
        for axes, shape in zip(factors.results, out_shapes, strict=True)
    ]
