"""Lowering of ``custom_partitioning``: a custom call in whose place the partitioner puts the program of one device."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from plugjax.experimental.custom_partitioning.factors import shardy_text
from plugjax.experimental.custom_partitioning.primitive import (
    Partitioner,
    custom_partitioning_p,
)
from plugjax.experimental.custom_partitioning.sharding_rule import SdyShardingRule, parsed
from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.meshes import Mesh
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.callback import Opaque
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.custom_call import custom_call
from plugjax.stablehlo.mlir import Type, Value
from plugjax_xla.custom_partitioning import TARGET, Split, announce

rules = RuleSet(__name__)


@rules.define(lowering, custom_partitioning_p, platform="xla")
def _custom_partitioning(
    ctx: EqnContext,
    *operands: Value,
    call: ClosedJaxpr,
    partition: Partitioner,
    sharding_rule: Opaque,
    in_tree: Any,
    out_tree: Any,
    static_args: Opaque,
    **_: Any,
) -> list[Value]:
    spread = ctx.module.partition
    mesh = None if spread is None else spread.mesh
    if not isinstance(mesh, Mesh) or ctx.module.manual_axes:
        return ctx.inline(call, operands)
    static: tuple[Any, ...] = static_args.value
    split = Split(
        functools.partial(partition.function.value, *static),
        mesh,
        in_tree,
        out_tree,
        ctx.avals_in,
        ctx.avals_out,
        ctx.module.device_kind,
    )
    announce(split)
    ctx.module.kept.append(split)
    types = [mlir.type_of(aval) for aval in ctx.avals_out]
    in_types = [mlir.type_of(aval) for aval in ctx.avals_in]
    rule = _rule(sharding_rule.value, static, mesh, in_types, types)
    shapes = [[aval.shape for aval in avals] for avals in (ctx.avals_in, ctx.avals_out)]
    written = (
        {} if rule is None else {"sdy.sharding_rule": mlir.attribute(shardy_text(rule, *shapes))}
    )
    found = custom_call(TARGET, types, operands, backend_config=split.key, extra_attributes=written)
    return list(found.results)


def _rule(
    given: Any, static: tuple[Any, ...], mesh: Mesh, operands: list[Type], results: Sequence[Type]
) -> SdyShardingRule | None:
    if callable(given):
        given = given(*static, mesh, operands, results)
    options: dict[str, Any] = {}
    if isinstance(given, (list, tuple)) and len(given) == 2:
        given, options = given
    if isinstance(given, str):
        return parsed(given, **options)
    if isinstance(given, (SdyShardingRule, type(None))):
        return given
    raise ValueError(
        f"custom_partitioning: sharding_rule must produce an SdyShardingRule or a text, got {given!r}."
    )
