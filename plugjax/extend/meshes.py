"""Meshes and shardings, for authors of primitives and backends."""

from plugjax.meshes.assembly import (
    array_of_stored_values,
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from plugjax.meshes.context import (
    ShardingLike,
    as_sharding,
    get_abstract_mesh,
    get_mesh,
    mesh_in_force,
    mesh_of_specs,
    over_devices,
    set_mesh,
    use_abstract_mesh,
)
from plugjax.meshes.errors import DuplicateSpecError, IndivisibleError, ShardingTypeError
from plugjax.meshes.geometry import block_indices, check_compatible_aval
from plugjax.meshes.kinds import kind_of, memory_rule
from plugjax.meshes.making import device_array, make_mesh
from plugjax.meshes.manual import (
    ManualAxisType,
    Mark,
    Reduced,
    Unreduced,
    axis_of,
    differing_axes,
    manual_axis_type,
    reduced_axes,
    unreduced_axes,
    varying_axes,
    without_names,
)
from plugjax.meshes.mesh import AbstractDevice, AbstractMesh, AxisType, Mesh
from plugjax.meshes.named import NamedSharding, explicit_part
from plugjax.meshes.partition import Partition
from plugjax.meshes.programs import mesh_of, mesh_rule
from plugjax.meshes.propagation import (
    elementwise_spread,
    inner_spread_rule,
    result_shardings,
    spread_by,
    spread_rule,
    told_rule,
)
from plugjax.meshes.shards import Shard, block_shape
from plugjax.meshes.spec import UNCONSTRAINED, PartitionSpec, names_of
from plugjax.meshes.types import (
    automatic,
    broadcast_spec,
    retyped,
    sharding_of_type,
    sharding_rule,
    spec_of,
    unreduced_rule,
    untyped,
    with_axis,
    without_axis,
)

__all__ = [
    "UNCONSTRAINED",
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "DuplicateSpecError",
    "IndivisibleError",
    "ManualAxisType",
    "Mark",
    "Mesh",
    "NamedSharding",
    "Partition",
    "PartitionSpec",
    "Reduced",
    "Shard",
    "ShardingLike",
    "ShardingTypeError",
    "Unreduced",
    "array_of_stored_values",
    "as_sharding",
    "automatic",
    "axis_of",
    "block_indices",
    "block_shape",
    "broadcast_spec",
    "check_compatible_aval",
    "device_array",
    "differing_axes",
    "elementwise_spread",
    "explicit_part",
    "get_abstract_mesh",
    "get_mesh",
    "inner_spread_rule",
    "kind_of",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_mesh",
    "manual_axis_type",
    "memory_rule",
    "mesh_in_force",
    "mesh_of",
    "mesh_of_specs",
    "mesh_rule",
    "names_of",
    "over_devices",
    "reduced_axes",
    "result_shardings",
    "retyped",
    "set_mesh",
    "sharding_of_type",
    "sharding_rule",
    "spec_of",
    "spread_by",
    "spread_rule",
    "told_rule",
    "unreduced_axes",
    "unreduced_rule",
    "untyped",
    "use_abstract_mesh",
    "varying_axes",
    "with_axis",
    "without_axis",
    "without_names",
]
