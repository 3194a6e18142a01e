"""Fields of the serialised form, in the order of their slots: the tables that JAX 0.10.2 writes.

A table is a dict from field name to value. Absent fields are read as their defaults. Slots are never reused, so a table
of an older or newer writer has fewer or more of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Field(NamedTuple):
    """One field of a table.

    Attributes:
        name: its name.
        kind: ``i8``, ``u8``, ``i16``, ``u16``, ``u32``, ``bool``, ``string``, or the name of a table.
        repeated: whether it is a vector of these.
    """

    name: str
    kind: str
    repeated: bool = False


def _fields(text: str) -> tuple[Field, ...]:
    fields = []
    for entry in text.split():
        name, kind = entry.split(":")
        fields.append(Field(name, kind.strip("[]"), kind.startswith("[")))
    return tuple(fields)


TABLES: Mapping[str, tuple[Field, ...]] = {
    "Tree": _fields(
        "kind:i8 children:[Tree] children_names:[string] custom_name:string custom_auxdata:[u8]"
    ),
    "Device": _fields("kind:string num_cores:u32 platform:string"),
    "Mesh": _fields("axis_sizes:[u32] axis_names:[string] axis_types:[i8] device:Device"),
    "SpecEntry": _fields("axes:[string]"),
    "Spec": _fields("partitions:[SpecEntry] reduced:[string] unreduced:[string]"),
    "NamedSharding": _fields("mesh:Mesh spec:Spec memory_kind:string mesh_index:u32"),
    "Sharding": _fields("kind:i8 hlo_sharding:[u8] named_sharding:NamedSharding"),
    "Aval": _fields("kind:i8 shape:[string] dtype:i8 memory_space:i8"),
    "Effect": _fields("type_name:string"),
    "Check": _fields("kind:i8 custom_call_target:string"),
    "Exported": _fields(
        "serialization_version:u16 fun_name:string in_tree:Tree in_avals:[Aval] out_tree:Tree out_avals:[Aval] "
        "nr_devices_short:i16 in_shardings:[Sharding] out_shardings:[Sharding] platforms:[string] "
        "ordered_effects:[Effect] unordered_effects:[Effect] disabled_checks:[Check] mlir_module:[u8] "
        "calling_convention_version:u16 module_kept_var_idx:[u16] uses_global_constants:bool vjp:Exported nr_devices:u32 "
        "unique_avals:[Aval] unique_meshes:[Mesh] unique_shardings:[NamedSharding] in_aval_indices:[u32] "
        "out_aval_indices:[u32] in_sharding_indices:[u32] out_sharding_indices:[u32]"
    ),
}

# JAX's readers accept this number in files of every version from 3 on, and tell versions apart by their fields.
SERIALIZATION_VERSION = 3

LEAF, NONE, TUPLE, LIST, DICT, CUSTOM = range(6)

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128", "bfloat16", "int4", "uint4", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float0", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn",
    "key<fry>", "key<rbg>", "key<urbg>",
)  # fmt: skip

DEVICE_MEMORY = 1
CHECK_PLATFORM, CHECK_CUSTOM_CALL = 0, 1
AUTO_AXIS, EXPLICIT_AXIS, MANUAL_AXIS = 1, 2, 3
