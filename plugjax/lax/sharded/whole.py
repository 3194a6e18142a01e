"""``shard_map`` as a program of whole arrays, for devices that share one memory.

The parts of all devices are an axis of each array for each axis of the mesh that cuts it, in front, and the program of one
device is batched over these axes by name, so that its collectives become sums, exchanges and permutations along them.
What does not differ along an axis is computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.calls import jit_p
from plugjax.extend.core import ClosedJaxpr, Tracer, aval_of, memoise
from plugjax.extend.meshes import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    names_of,
    retyped,
    untyped,
)
from plugjax.extend.rules import RuleSet, expand_rule
from plugjax.extend.transforms import Axis, Kept, batch_jaxpr, has_high, stage
from plugjax.lax.placement import is_partitioned, sharding_constraint_p
from plugjax.lax.shape import broadcast_in_dim, reshape, transpose
from plugjax.lax.sharded.primitive import (
    AnyMesh,
    Axes,
    Specs,
    in_order,
    inside,
    shard_map_p,
    spec_names,
    whole_aval,
)
from plugjax.lax.slicing import index_in_dim

rules = RuleSet(__name__)


@rules.define(expand_rule, shard_map_p)
def _expand(
    *,
    jaxpr: ClosedJaxpr,
    mesh: AnyMesh,
    in_specs: Specs,
    out_specs: Specs,
    newly_manual_axes: Axes,
    check_vma: bool,
) -> Kept | Callable[..., list[Any]]:
    def call(*args: Any) -> list[Any]:
        program = _program(jaxpr, mesh, in_specs, out_specs, newly_manual_axes)
        outs = jit_p.bind(*map(untyped, args), jaxpr=program, name=jaxpr.jaxpr.debug_name)
        return [
            y
            if isinstance(y, Tracer)
            else retyped(y, whole_aval(aval, mesh, spec, newly_manual_axes))
            for y, aval, spec in zip(outs, jaxpr.out_avals, out_specs, strict=True)
        ]

    # Values that consist of arrays are taken apart first (``lowered_rule``).
    kept = is_partitioned(mesh) or has_high(jaxpr)
    return Kept(call, inline=False) if kept else call


def _program(
    jaxpr: ClosedJaxpr, mesh: AnyMesh, in_specs: Specs, out_specs: Specs, axes: Axes
) -> ClosedJaxpr:
    def make() -> ClosedJaxpr:
        avals = [
            whole_aval(aval, mesh, spec, axes).update(spread=None)
            for aval, spec in zip(jaxpr.in_avals, in_specs, strict=True)
        ]
        names = in_order(mesh, axes)
        sizes = dict(mesh.shape_tuple)
        with inside(mesh, axes, False):
            program = jaxpr
            differs = [spec_names(spec) for spec in in_specs]
            varying: list[set[Any]] = [set() for _ in out_specs]
            # The axis of the mesh that comes last is batched last, and in front.
            for name in names:
                batched_in = [name in found for found in differs]
                program, batched = batch_jaxpr(
                    program, Axis(sizes[name], name, of_mesh=True), batched_in
                )
                for found, b in zip(varying, batched, strict=True):
                    found.update([name] if b else [])

        def whole(*args: Any) -> list[Any]:
            parts = [_split(x, spec, names, sizes) for x, spec in zip(args, in_specs, strict=True)]
            outs = jit_p.bind(*parts, jaxpr=program, name=jaxpr.jaxpr.debug_name)
            joined = [
                _join(y, spec, found, names, sizes)
                for y, spec, found in zip(outs, out_specs, varying, strict=True)
            ]
            return [_placed(y, mesh, spec) for y, spec in zip(joined, out_specs, strict=True)]

        return stage(whole, avals, jaxpr.jaxpr.debug_name)

    key = ("whole", mesh, in_specs, out_specs, axes)
    found: ClosedJaxpr = memoise(jaxpr, key, make)
    return found


def _placed(y: Any, mesh: AnyMesh, spec: PartitionSpec) -> Any:
    if not isinstance(mesh, Mesh):
        return y
    return sharding_constraint_p.bind(y, sharding=NamedSharding(mesh, spec))[0]


def _split(x: Any, spec: PartitionSpec, names: Sequence[Any], sizes: dict[Any, int]) -> Any:
    """An array with an axis in front for each axis of the mesh that cuts it, the last one first."""
    shape = aval_of(x).shape
    entries = [*map(names_of, spec), *[()] * (len(shape) - len(spec))]
    finer: list[int] = []
    positions: dict[Any, int] = {}
    kept: list[int] = []
    for size, entry in zip(shape, entries, strict=True):
        for name in entry:
            positions[name] = len(finer)
            finer.append(sizes[name])
        kept.append(len(finer))
        finer.append(size // math.prod(sizes[name] for name in entry))
    if not positions:
        return x
    front = [positions[name] for name in reversed(names) if name in positions]
    return transpose(reshape(x, tuple(finer)), (*front, *kept))


def _join(
    y: Any,
    spec: PartitionSpec,
    varying: set[Any],
    names: Sequence[Any],
    sizes: dict[Any, int],
) -> Any:
    """The array whose parts lie along axes in front, one for each name in ``varying``, the last one first."""
    wanted = spec_names(spec)
    front = [name for name in reversed(names) if name in varying]
    # Along the other axes all devices have the same, so the first one is as good as any.
    for name in [name for name in front if name not in wanted]:
        y = index_in_dim(y, 0, front.index(name), keepdims=False)
        front.remove(name)
    shape = aval_of(y).shape
    missing = [name for name in wanted if name not in front]
    if missing:
        target = (*(sizes[name] for name in missing), *shape)
        y = broadcast_in_dim(y, target, tuple(range(len(missing), len(target))))
        front = [*missing, *front]
        shape = target
    local = shape[len(front) :]
    entries = [*map(names_of, spec), *[()] * (len(local) - len(spec))]
    order: list[int] = []
    merged: list[int] = []
    for axis, (size, entry) in enumerate(zip(local, entries, strict=True)):
        order += [*(front.index(name) for name in entry), len(front) + axis]
        merged.append(size * math.prod(sizes[name] for name in entry))
    return reshape(transpose(y, tuple(order)), tuple(merged)) if front else y
