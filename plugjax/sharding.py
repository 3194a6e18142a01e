"""Meshes and shardings by JAX's names (``jax.sharding``)."""

from plugjax.extend.core import Device, Sharding, SingleDeviceSharding
from plugjax.extend.meshes import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    ManualAxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)
from plugjax.lax.sharded.resharding import auto_axes, explicit_axes, reshard

P = PartitionSpec


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """The sharding of whole arrays on one device.

    Raises:
        ValueError: the device has no memory of that kind.

    Example:
        >>> import plugjax
        >>> plugjax.sharding.make_single_device_sharding(plugjax.devices("numpy")[0])
        SingleDeviceSharding(numpy:0)
    """
    return SingleDeviceSharding(device, memory_kind=memory_kind)


__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "make_single_device_sharding",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]
