"""Meshes and shardings in the Shardy dialect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import ShapedArray, Sharding
from plugjax.extend.meshes import (
    UNCONSTRAINED,
    AbstractMesh,
    Mesh,
    NamedSharding,
    Partition,
    names_of,
)
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import ModuleContext
from plugjax.stablehlo.mlir import Attribute, Module, Operation, Value


def mesh_symbol(module: ModuleContext, mesh: Mesh | AbstractMesh) -> str:
    """Name of the mesh in the module, which declares it on first use."""
    key = ("mesh", mesh.shape_tuple)
    found = module.meshes.get(key)
    if found is None:
        found = module.meshes[key] = module.unique_name("mesh")
        axes = ", ".join(f"{quoted(name)}={size}" for name, size in mesh.shape_tuple)
        attributes = {
            "sym_name": mlir.string(found),
            "mesh": mlir.attribute(f"#sdy.mesh<[{axes}]>"),
        }
        with mlir.at_start(module.module.body):
            mlir.op("sdy.mesh", [], [], attributes)
    return found


def quoted(name: Any) -> str:
    """The name of an axis as Shardy's text has it."""
    return json.dumps(str(name))


def sharding_text(
    module: ModuleContext, sharding: Sharding, ndim: int, open_axes: Sequence[int] = ()
) -> str:
    """A sharding as Shardy's text within ``#sdy.sharding<...>``.

    Args:
        module: the module.
        sharding: by the names of a mesh.
        ndim: the rank of the values.
        open_axes: axes that the compiler may cut further.
    """
    if not isinstance(sharding, NamedSharding):
        raise TypeError(f"only shardings over a mesh can be lowered, got {sharding}")
    parts = []
    entries = [*sharding.spec, *[None] * (ndim - len(sharding.spec))]
    for axis, entry in enumerate(entries):
        is_open = entry is UNCONSTRAINED or axis in open_axes
        names = [*map(quoted, names_of(entry)), *(["?"] if is_open else [])]
        parts.append("{" + ", ".join(names) + "}")
    return f"@{mesh_symbol(module, sharding.mesh)}, [{', '.join(parts)}]"


def sharding_attribute(
    module: ModuleContext, sharding: Sharding, ndim: int, open_axes: Sequence[int] = ()
) -> Attribute:
    """A sharding as an attribute of a value."""
    return mlir.attribute(f"#sdy.sharding<{sharding_text(module, sharding, ndim, open_axes)}>")


def sharding_list(
    module: ModuleContext, shardings: Sequence[Sharding], ranks: Sequence[int]
) -> Attribute:
    """Shardings of several values as one attribute."""
    texts = [
        f"<{sharding_text(module, sharding, ndim)}>"
        for sharding, ndim in zip(shardings, ranks, strict=True)
    ]
    return mlir.attribute(f"#sdy.sharding_per_value<[{', '.join(texts)}]>")


def on_first_device(module: ModuleContext, results: int) -> Attribute:
    """The sharding of an operation that one device runs, for all its results."""
    name = module.meshes.get("first device")
    if name is None:
        name = module.meshes["first device"] = module.unique_name("maximal_mesh_0")
        attributes = {
            "sym_name": mlir.string(name),
            "mesh": mlir.attribute("#sdy.mesh<[], device_ids=[0]>"),
        }
        with mlir.at_start(module.module.body):
            mlir.op("sdy.mesh", [], [], attributes)
    each = ", ".join([f"<@{name}, []>"] * max(results, 1))
    return mlir.attribute(f"#sdy.sharding_per_value<[{each}]>")


def constrained(module: ModuleContext, x: Value, aval: ShapedArray, sharding: Sharding) -> Value:
    """A value that the compiler is to spread by a sharding."""
    attribute = sharding_attribute(module, sharding, aval.ndim)
    return mlir.value("sdy.sharding_constraint", aval, [x], {"sharding": attribute})


def partition_marks(
    module: ModuleContext, shardings: Sequence[Sharding | None], avals: Sequence[ShapedArray]
) -> list[dict[str, Attribute]]:
    """Attributes of arguments or results that say how they are spread."""
    return [
        {} if s is None else {"sdy.sharding": sharding_attribute(module, s, aval.ndim)}
        for s, aval in zip(shardings, avals, strict=True)
    ]


def adopt_meshes(module: ModuleContext, added: Module) -> None:
    """Move the meshes of a module that is to be merged into this one, under names that are free here."""
    own = {str(op.attributes["mesh"]): _symbol(op) for op in _mesh_operations(module.module)}
    meshes = _mesh_operations(added)
    # Names that both modules use mean different meshes, so all of the added ones are set apart first.
    mlir.rename_symbols(added, {_symbol(op): f"added.{i}" for i, op in enumerate(meshes)})
    for op in meshes:
        known = own.get(str(op.attributes["mesh"]))
        mlir.rename_symbols(added, {_symbol(op): known or module.unique_name("mesh")})
        if known is None:
            mlir.move_to_end(op, module.module)
        else:
            op.erase()


def _mesh_operations(module: Module) -> list[Operation]:
    found = (each.operation for each in module.body.operations)
    return [operation for operation in found if operation.name == "sdy.mesh"]


def _symbol(operation: Operation) -> str:
    return str(operation.attributes["sym_name"].value)


def declare_partition(module: ModuleContext, partition: Partition) -> None:
    """Mark a module as the program of the devices of a mesh."""
    module.partition = partition
    module.devices = partition.mesh.size
    attributes = module.module.operation.attributes
    attributes["mhlo.num_partitions"] = mlir.attribute(f"{partition.mesh.size} : i32")
    attributes["mhlo.num_replicas"] = mlir.attribute("1 : i32")
    mesh_symbol(module, partition.mesh)
