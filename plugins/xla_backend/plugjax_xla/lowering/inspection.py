"""Lowering of ``inspect_sharding``: XLA's partitioner calls a Python function with the sharding that it chose."""

from __future__ import annotations

from typing import Any

from plugjax.extend.meshes import NamedSharding, PartitionSpec
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.inspection import Inspection, inspect_sharding_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.custom_call import custom_call
from plugjax.stablehlo.mlir import Value
from plugjax_xla.jaxlib_shim import inspection_key
from plugjax_xla.mesh_runtime import blocks_from_hlo
from plugjax_xla.partitioned import named

rules = RuleSet(__name__)


@rules.define(lowering, inspect_sharding_p, platform="xla")
def _inspect_sharding(ctx: EqnContext, x: Value, *, callback: Inspection) -> list[Value]:
    partition, (aval,) = ctx.module.partition, ctx.avals_in
    if partition is None:
        return []
    mesh = partition.mesh

    def told(sharding: Any) -> None:
        # No blocks: the value is in the program of one device.
        blocks = blocks_from_hlo(sharding, aval.ndim, mesh.size)
        found = None if blocks is None else named(mesh, blocks)
        callback.function(found or NamedSharding(mesh, PartitionSpec()))

    ctx.module.kept.append(told)
    custom_call(
        "InspectSharding",
        [mlir.type_of(aval)],
        [x],
        backend_config=inspection_key(told),
        has_side_effect=True,
        api_version=1,
    )
    return []
