"""Exported functions as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.export import program_bytes, schema
from plugjax.export.artifact import Artifact
from plugjax.export.flat_tables import write
from plugjax.export.safety import DisabledSafetyCheck
from plugjax.export.sharding_tables import mesh_fields, sharding_fields
from plugjax.export.trees import tree_fields
from plugjax.extend import dtypes
from plugjax.extend.core import ShapedArray
from plugjax.extend.meshes import UNCONSTRAINED, NamedSharding


def serialize(exported: Artifact, vjp_order: int, jaxpr: bool) -> bytearray:
    """The bytes of an artifact: see ``Exported.serialize``."""
    data = write("Exported", _fields(exported, vjp_order))
    if jaxpr:
        if exported._program is None:
            raise ValueError(
                f"Exported.serialize: the program of '{exported.fun_name}' is not known: it was loaded from an artifact without."
            )
        data += program_bytes.trailer(exported._program)
    return data


def _fields(exported: Artifact, vjp_order: int) -> dict[str, Any]:
    avals = list(dict.fromkeys((*map(_plain, exported.in_avals), *map(_plain, exported.out_avals))))
    place = {aval: i for i, aval in enumerate(avals)}
    shardings = _Shardings(
        exported.fun_name, (*exported._in_named_shardings, *exported._out_named_shardings)
    )
    if exported.ordered_effects or exported.unordered_effects:
        raise NotImplementedError(
            f"Exported.serialize: '{exported.fun_name}' has effects, which cannot be written."
        )
    if vjp_order > 0 and not exported.has_vjp():
        raise ValueError(
            f"Exported.serialize: '{exported.fun_name}' does not have vjps of high-enough order for {vjp_order} more."
        )
    return {
        "serialization_version": schema.SERIALIZATION_VERSION,
        "fun_name": exported.fun_name,
        "in_tree": tree_fields(exported.in_tree),
        "in_avals": [_aval_fields(aval) for aval in exported.in_avals],
        "out_tree": tree_fields(exported.out_tree),
        "out_avals": [_aval_fields(aval) for aval in exported.out_avals],
        "nr_devices": exported.nr_devices,
        "in_shardings": [shardings.table(s) for s in exported._in_named_shardings],
        "out_shardings": [shardings.table(s) for s in exported._out_named_shardings],
        "platforms": exported.platforms,
        "ordered_effects": [],
        "unordered_effects": [],
        "disabled_checks": [_check_fields(check) for check in exported.disabled_safety_checks],
        "mlir_module": exported.mlir_module_serialized,
        "calling_convention_version": exported.calling_convention_version,
        "module_kept_var_idx": exported.module_kept_var_idx,
        "uses_global_constants": exported.uses_global_constants,
        "vjp": _fields(exported.vjp(), vjp_order - 1) if vjp_order > 0 else None,
        "unique_avals": [_aval_fields(aval) for aval in avals],
        "unique_meshes": [mesh_fields(mesh) for mesh in shardings.meshes],
        "unique_shardings": [shardings.fields(s) for s in shardings.places],
        "in_aval_indices": [place[_plain(aval)] for aval in exported.in_avals],
        "out_aval_indices": [place[_plain(aval)] for aval in exported.out_avals],
        "in_sharding_indices": [shardings.index(s) for s in exported._in_named_shardings],
        "out_sharding_indices": [shardings.index(s) for s in exported._out_named_shardings],
    }


class _Shardings:
    """The different shardings of an artifact, and their meshes.

    Attributes:
        places: the shardings, with their positions.
        meshes: the meshes, likewise.
    """

    def __init__(self, name: str, shardings: Sequence[NamedSharding | None]) -> None:
        stated = [s for s in shardings if s is not None]
        for sharding in stated:
            if UNCONSTRAINED in tuple(sharding.spec):
                raise ValueError(
                    f"Exported.serialize: an argument or result of '{name}' is spread by {sharding.spec}, and artifacts have no form "
                    "for axes that are left to the compiler. Say how they are cut, or leave the sharding out."
                )
        self.places = {s: i for i, s in enumerate(dict.fromkeys(stated))}
        meshes = dict.fromkeys(s.mesh.abstract_mesh for s in stated)
        self.meshes = {mesh: i for i, mesh in enumerate(meshes)}

    def index(self, sharding: NamedSharding | None) -> int:
        """What an argument refers to its sharding by."""
        return 0 if sharding is None else 1 + self.places[sharding]

    def fields(self, sharding: NamedSharding) -> dict[str, Any]:
        """A sharding as a table, with its mesh and the position of that."""
        place = self.meshes[sharding.mesh.abstract_mesh]
        return {**sharding_fields(sharding), "mesh_index": place}

    def table(self, sharding: NamedSharding | None) -> dict[str, Any]:
        """The sharding of an argument as a table, for readers before JAX 0.10."""
        return {} if sharding is None else {"named_sharding": self.fields(sharding)}


def _plain(aval: ShapedArray) -> ShapedArray:
    return aval.strip_weak_type()


def _aval_fields(aval: ShapedArray) -> dict[str, Any]:
    name = "float0" if aval.dtype == dtypes.float0 else aval.dtype.name
    if name not in schema.DTYPES:
        raise ValueError(f"Exported.serialize: the form of artifacts has no dtype {name}.")
    return {
        "kind": 0,
        "shape": [str(d) for d in aval.shape],
        "dtype": schema.DTYPES.index(name),
        "memory_space": schema.DEVICE_MEMORY,
    }


def _check_fields(check: DisabledSafetyCheck) -> dict[str, Any]:
    target = check.is_custom_call()
    if target is not None:
        return {"kind": schema.CHECK_CUSTOM_CALL, "custom_call_target": target}
    return {"kind": schema.CHECK_PLATFORM}
