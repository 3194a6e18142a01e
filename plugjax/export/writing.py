"""Exported functions as bytes."""

from __future__ import annotations

from typing import Any

from plugjax.export import program_bytes, schema
from plugjax.export.artifact import Artifact
from plugjax.export.flat_tables import write
from plugjax.export.safety import DisabledSafetyCheck
from plugjax.export.trees import tree_fields
from plugjax.extend import dtypes
from plugjax.extend.core import ShapedArray


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
        "in_shardings": [{} for _ in exported.in_avals],
        "out_shardings": [{} for _ in exported.out_avals],
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
        "unique_meshes": [],
        "unique_shardings": [],
        "in_aval_indices": [place[_plain(aval)] for aval in exported.in_avals],
        "out_aval_indices": [place[_plain(aval)] for aval in exported.out_avals],
        "in_sharding_indices": [0 for _ in exported.in_avals],
        "out_sharding_indices": [0 for _ in exported.out_avals],
    }


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
