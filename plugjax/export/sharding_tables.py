"""Meshes, partition specs and shardings as tables of the schema, which are JSON too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from plugjax.export import schema
from plugjax.extend.meshes import (
    UNCONSTRAINED,
    AbstractDevice,
    AbstractMesh,
    AxisType,
    DuplicateSpecError,
    NamedSharding,
    PartitionSpec,
    names_of,
)

# The names of the types of axes, in the order of their numbers.
_AXIS_TYPES = {
    schema.AUTO_AXIS: AxisType.Auto,
    schema.EXPLICIT_AXIS: AxisType.Explicit,
    schema.MANUAL_AXIS: AxisType.Manual,
}


def mesh_fields(mesh: AbstractMesh) -> dict[str, Any]:
    """An abstract mesh as a table.

    Raises:
        ValueError: the name of an axis is no string.
    """
    numbers = {kind: number for number, kind in _AXIS_TYPES.items()}
    found: dict[str, Any] = {
        "axis_sizes": list(mesh.axis_sizes),
        "axis_names": _names(mesh.axis_names),
        "axis_types": [numbers[kind] for kind in mesh.axis_types],
    }
    device = mesh.abstract_device
    if device is not None:
        found["device"] = {
            "kind": device.device_kind,
            "num_cores": device.num_cores,
            "platform": device.platform,
        }
    return found


def _names(names: Collection[Any]) -> list[str]:
    for name in names:
        if not isinstance(name, str):
            raise ValueError(
                f"Exported.serialize: an axis of a mesh is named {name!r}, and artifacts hold names that are strings. Rename it."
            )
    return list(names)


def spec_fields(spec: PartitionSpec) -> dict[str, Any]:
    """A partition spec as a table; an entry that is left to the compiler has the field ``open``, which JAX has not."""
    return {
        "partitions": [
            {"open": True} if entry is UNCONSTRAINED else {"axes": _names(names_of(entry))}
            for entry in spec
        ],
        "reduced": sorted(_names(spec.reduced)),
        "unreduced": sorted(_names(spec.unreduced)),
    }


def sharding_fields(sharding: NamedSharding) -> dict[str, Any]:
    """A sharding over an abstract mesh as a table."""
    return {
        "mesh": mesh_fields(sharding.mesh.abstract_mesh),
        "spec": spec_fields(sharding.spec),
        "memory_kind": sharding.memory_kind,
    }


def read_mesh(fields: Mapping[str, Any]) -> AbstractMesh:
    """The abstract mesh of a table.

    Raises:
        ValueError: it is malformed.
    """
    sizes, names, types = (fields[f"axis_{word}"] for word in ("sizes", "names", "types"))
    if not len(sizes) == len(names) == len(types) or len(set(names)) < len(names):
        raise _fail(f"a mesh has the names {names}, the sizes {sizes} and the types {types}")
    for size, kind in zip(sizes, types, strict=True):
        if size < 1 or kind not in _AXIS_TYPES:
            raise _fail(f"an axis of a mesh has the size {size} and the type {kind}")
    device = fields.get("device")
    return AbstractMesh(
        sizes,
        names,
        tuple(_AXIS_TYPES[kind] for kind in types),
        abstract_device=None if device is None else _device(device),
    )


def _device(fields: Mapping[str, Any]) -> AbstractDevice:
    kind = fields["kind"]
    if kind is None:
        raise _fail("the devices of a mesh are of no kind")
    # Writers before JAX 0.10 leave the platform out.
    return AbstractDevice(kind, fields["num_cores"] or None, fields["platform"] or kind)


def read_spec(fields: Mapping[str, Any]) -> PartitionSpec:
    """The partition spec of a table.

    Raises:
        ValueError: it is malformed.
    """
    return PartitionSpec(
        *map(_entry, fields["partitions"]),
        unreduced=frozenset(fields["unreduced"]),
        reduced=frozenset(fields["reduced"]),
    )


def _entry(fields: Mapping[str, Any]) -> Any:
    if fields.get("open"):
        return UNCONSTRAINED
    axes = fields["axes"]
    return axes[0] if len(axes) == 1 else tuple(axes) or None


def read_sharding(fields: Mapping[str, Any], meshes: Sequence[AbstractMesh] = ()) -> NamedSharding:
    """The sharding of a table.

    Args:
        fields: the table.
        meshes: those that it refers to by index; without them it has its own.

    Raises:
        ValueError: it is malformed.
    """
    spec = fields["spec"]
    if spec is None:
        raise _fail("a sharding has no partition spec")
    if not meshes:
        if fields["mesh"] is None:
            raise _fail("a sharding has no mesh")
        mesh = read_mesh(fields["mesh"])
    elif fields["mesh_index"] < len(meshes):
        mesh = meshes[fields["mesh_index"]]
    else:
        raise _fail(f"a sharding refers to mesh {fields['mesh_index']} of {len(meshes)}")
    try:
        return NamedSharding(mesh, read_spec(spec), memory_kind=fields["memory_kind"])
    except (TypeError, ValueError, DuplicateSpecError) as error:
        raise _fail(str(error)) from error


def _fail(what: str) -> ValueError:
    return ValueError(f"export.deserialize: the artifact is malformed: {what}.")
