"""Lowering of programs of one device, and of what says how values are spread, to the Shardy dialect.

A device is known to collectives by its position in the mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import ClosedJaxpr, ShapedArray, Sharding
from plugjax.extend.errors import LoweringError
from plugjax.extend.meshes import AbstractMesh, Mesh, NamedSharding, PartitionSpec
from plugjax.extend.rules import RuleSet, lowering
from plugjax.extend.transforms import Axis, bound_axes, stage
from plugjax.lax.collectives import (
    all_gather_invariant_p,
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    pvary_p,
    reduce_scatter_p,
)
from plugjax.lax.placement import sharding_constraint_p
from plugjax.lax.ragged_exchange import exchange_of_one_device, ragged_all_to_all_p
from plugjax.lax.sharded.primitive import shard_map_p
from plugjax.lax.summands import (
    CASTS,
    all_gather_reduced_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
)
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.meshes import constrained, mesh_symbol, sharding_list
from plugjax.stablehlo.mlir import Attribute, Value
from plugjax.stablehlo.reducers import MAXIMUM, MINIMUM, SUM, Reducer

rules = RuleSet(__name__)

AnyMesh = Mesh | AbstractMesh


@rules.define(lowering, sharding_constraint_p)
def _sharding_constraint(ctx: EqnContext, x: Value, *, sharding: Sharding) -> list[Value]:
    if not isinstance(sharding, NamedSharding):
        return [x]
    return [constrained(ctx.module, x, ctx.avals_in[0], sharding)]


@rules.define(lowering, shard_map_p)
def _shard_map(
    ctx: EqnContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    mesh: AnyMesh,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
    newly_manual_axes: frozenset[Any],
    **_: Any,
) -> list[Value]:
    module = ctx.module
    names = tuple(name for name in mesh.axis_names if name in newly_manual_axes)
    attributes = {
        "in_shardings": _specs(ctx, mesh, in_specs, ctx.avals_in),
        "out_shardings": _specs(ctx, mesh, out_specs, ctx.avals_out),
        "manual_axes": mlir.manual_axes(map(str, names)),
    }
    types = [mlir.type_of(aval) for aval in ctx.avals_out]
    found = mlir.op("sdy.manual_computation", types, list(operands), attributes, regions=1)
    block = mlir.add_block(found.regions[0], [mlir.type_of(v.aval) for v in jaxpr.jaxpr.invars])
    outer = module.manual_axes
    module.manual_axes = {**outer, **dict.fromkeys(names, mesh)}
    # A program is another function along other axes.
    functions, module.functions = module.functions, {}
    try:
        with mlir.at_end(block):
            mlir.op("sdy.return", [], ctx.inline(jaxpr, list(block.arguments)))
    finally:
        module.manual_axes = outer
        module.functions = functions
    return list(found.results)


def _specs(
    ctx: EqnContext, mesh: AnyMesh, specs: Sequence[PartitionSpec], avals: Sequence[ShapedArray]
) -> Attribute:
    shardings = [NamedSharding(mesh, spec) for spec in specs]
    return sharding_list(ctx.module, shardings, [aval.ndim for aval in avals])


# Collectives --------------------------------------------------------------------------------------


def _mesh_of(ctx: EqnContext, names: Sequence[Any]) -> AnyMesh:
    meshes = ctx.module.manual_axes
    for name in names:
        if name not in meshes:
            raise LoweringError(
                f"'{ctx.primitive.name}' along {name!r}: the axis is no manual axis of a mesh here. Bind it by shard_map, or by "
                "vmap(axis_name=...)."
            )
    found: AnyMesh = meshes[names[0]]
    return found


def _groups(
    mesh: AnyMesh, names: Sequence[Any], inner: Sequence[Sequence[int]] | None = None
) -> np.ndarray[Any, Any]:
    """Positions of the devices that work together along axes, a row for each group."""
    ids = np.arange(mesh.size).reshape(mesh.axis_sizes)
    axes = [mesh.axis_names.index(name) for name in names]
    others = [axis for axis in range(ids.ndim) if axis not in axes]
    count = int(np.prod([mesh.axis_sizes[axis] for axis in axes]))
    rows = ids.transpose(*others, *axes).reshape(-1, count)
    if inner is None:
        return rows
    return np.concatenate([rows[:, list(group)] for group in inner])


def _along(
    mesh: AnyMesh, names: Sequence[Any], inner: Sequence[Sequence[int]] | None = None
) -> dict[str, Attribute]:
    return {
        "replica_groups": _matrix(_groups(mesh, names, inner)),
        "channel_handle": mlir.attribute("#stablehlo.channel_handle<handle = 1, type = 1>"),
        "use_global_device_ids": mlir.attribute("unit"),
    }


def _matrix(rows: np.ndarray[Any, Any]) -> Attribute:
    return mlir.elements(np.asarray(rows, np.int64))


def _reduction(primitive: Any, reducer: Reducer) -> None:
    @rules.define(lowering, primitive)
    def _all_reduce(
        ctx: EqnContext, x: Value, *, axes: Sequence[Any], axis_index_groups: Any = None
    ) -> Value:
        (aval,) = ctx.avals_in
        scalar = mlir.tensor((), aval.dtype)
        found = mlir.op(
            "stablehlo.all_reduce",
            [mlir.type_of(aval)],
            [x],
            _along(_mesh_of(ctx, axes), axes, axis_index_groups),
            regions=1,
        )
        mlir.fill_region(found.regions[0], [scalar, scalar], reducer.body(aval.dtype))
        return found.result


_reduction(psum_p, SUM)
_reduction(unreduced_psum_p, SUM)
_reduction(pmax_p, MAXIMUM)
_reduction(pmin_p, MINIMUM)


@rules.define(lowering, pvary_p, *CASTS)
def _pvary(ctx: EqnContext, x: Value, **_: Any) -> Value:
    return x


@rules.define(lowering, all_gather_p, all_gather_invariant_p, all_gather_reduced_p)
def _all_gather(
    ctx: EqnContext,
    x: Value,
    *,
    all_gather_dimension: int,
    axis_name: Sequence[Any],
    axis_index_groups: Any = None,
    tiled: bool,
    **_: Any,
) -> Value:
    (aval,), (out,) = ctx.avals_in, ctx.avals_out
    place = all_gather_dimension
    if not tiled:
        wider = aval.update(shape=(*aval.shape[:place], 1, *aval.shape[place:]))
        x = mlir.value("stablehlo.reshape", wider, [x])
    attributes = {
        **_along(_mesh_of(ctx, axis_name), axis_name, axis_index_groups),
        "all_gather_dim": mlir.attribute(f"{place} : i64"),
    }
    return mlir.value("stablehlo.all_gather", out, [x], attributes)


@rules.define(lowering, reduce_scatter_p, unreduced_reduce_scatter_p)
def _reduce_scatter(
    ctx: EqnContext,
    x: Value,
    *,
    scatter_dimension: int,
    axis_name: Sequence[Any],
    axis_index_groups: Any = None,
    axis_size: int,
    tiled: bool,
    **_: Any,
) -> Value:
    (aval,), (out,) = ctx.avals_in, ctx.avals_out
    shape = list(aval.shape)
    shape[scatter_dimension] //= axis_size
    part = aval.update(shape=tuple(shape))
    scalar = mlir.tensor((), aval.dtype)
    attributes = {
        **_along(_mesh_of(ctx, axis_name), axis_name, axis_index_groups),
        "scatter_dimension": mlir.attribute(f"{scatter_dimension} : i64"),
    }
    found = mlir.op("stablehlo.reduce_scatter", [mlir.type_of(part)], [x], attributes, regions=1)
    mlir.fill_region(found.regions[0], [scalar, scalar], SUM.body(aval.dtype))
    return found.result if tiled else mlir.value("stablehlo.reshape", out, [found.result])


@rules.define(lowering, all_to_all_p)
def _all_to_all(
    ctx: EqnContext,
    x: Value,
    *,
    axis_name: Any,
    axis_index_groups: Any,
    axis_size: int,
    concat_axis: int,
    split_axis: int,
    **_: Any,
) -> Value:
    attributes = _along(_mesh_of(ctx, (axis_name,)), (axis_name,), axis_index_groups)
    del attributes["use_global_device_ids"]
    attributes |= {
        "split_dimension": mlir.attribute(f"{split_axis} : i64"),
        "concat_dimension": mlir.attribute(f"{concat_axis} : i64"),
        "split_count": mlir.attribute(f"{axis_size} : i64"),
    }
    return mlir.op("stablehlo.all_to_all", [mlir.type_of(ctx.avals_out[0])], [x], attributes).result


@rules.define(lowering, ragged_all_to_all_p)
def _ragged_all_to_all(ctx: EqnContext, *operands: Value, axis_name: tuple[Any, ...]) -> Value:
    # XLA has an operation for it on accelerators alone.
    _mesh_of(ctx, axis_name)
    axes = [Axis(dict(m.shape_tuple)[name], name) for name, m in ctx.module.manual_axes.items()]
    with bound_axes(axes):
        program = stage(
            lambda *xs: [exchange_of_one_device(*xs, axis_name=axis_name)], ctx.avals_in, "exchange"
        )
    (found,) = ctx.inline(program, list(operands))
    return found


@rules.define(lowering, ppermute_p)
def _ppermute(
    ctx: EqnContext, x: Value, *, axis_name: Sequence[Any], perm: Sequence[tuple[int, int]]
) -> Value:
    groups = _groups(_mesh_of(ctx, axis_name), axis_name)
    pairs = [[group[a], group[b]] for group in groups for a, b in perm]
    attributes = {
        "source_target_pairs": _matrix(np.array(pairs, np.int64).reshape(-1, 2)),
        "channel_handle": mlir.attribute("#stablehlo.channel_handle<handle = 1, type = 1>"),
    }
    return mlir.value("stablehlo.collective_permute", ctx.avals_in[0], [x], attributes)


@rules.define(lowering, axis_index_p)
def _axis_index(ctx: EqnContext, *, axis_name: Any) -> Value:
    mesh = _mesh_of(ctx, (axis_name,))
    (out,) = ctx.avals_out
    manual = [
        name for name, m in ctx.module.manual_axes.items() if m.shape_tuple == mesh.shape_tuple
    ]
    others = [name for name in mesh.axis_names if name not in manual]
    if not others:
        return _position(mesh, axis_name, out)
    # A device knows its position only in the program of one device along all axes.
    whole = NamedSharding(mesh, PartitionSpec())
    attributes = {
        "in_shardings": sharding_list(ctx.module, [], []),
        "out_shardings": sharding_list(ctx.module, [whole], [0]),
        "manual_axes": mlir.manual_axes(map(str, others)),
    }
    mesh_symbol(ctx.module, mesh)
    found = mlir.op("sdy.manual_computation", [mlir.type_of(out)], [], attributes, regions=1)
    block = mlir.add_block(found.regions[0], [])
    with mlir.at_end(block):
        mlir.op("sdy.return", [], [_position(mesh, axis_name, out)])
    return found.result


def _position(mesh: AnyMesh, name: Any, out: ShapedArray) -> Value:
    """The index of the device along an axis."""
    at = mesh.axis_names.index(name)
    stride = int(np.prod(mesh.axis_sizes[at + 1 :]))
    unsigned = ShapedArray((), dtypes.as_numpy_dtype("uint32"))
    number = mlir.value("stablehlo.partition_id", unsigned, [])
    for operation, factor in (("divide", stride), ("remainder", mesh.axis_sizes[at])):
        constant = mlir.constant(np.asarray(factor, np.uint32))
        number = mlir.value(f"stablehlo.{operation}", unsigned, [number, constant])
    return mlir.op("stablehlo.convert", [mlir.type_of(out)], [number]).result
