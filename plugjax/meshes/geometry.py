"""What follows from where the blocks of an array lie: JAX's methods of shardings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from plugjax.core.aval import Shape
from plugjax.core.device import Device, Sharding, SingleDeviceSharding
from plugjax.meshes.errors import IndivisibleError

Index: TypeAlias = tuple[slice, ...]


def check_compatible_aval(sharding: Sharding, shape: Shape) -> None:
    """Raise unless arrays of a shape can be spread by a sharding.

    Raises:
        ValueError: an axis cannot be divided evenly, or the sharding is for a higher rank.
    """
    counts = sharding.counts(len(shape))
    for axis, (size, count) in enumerate(zip(shape, counts, strict=True)):
        if size % count:
            raise IndivisibleError(
                f"Sharding {sharding} implies that array axis {axis} is partitioned {count} times, but the dimension size is "
                f"{size} (full shape: {tuple(shape)}). Pad the array, or leave the axis whole."
            )


def shard_shape(sharding: Sharding, global_shape: Shape) -> Shape:
    """The shape of a block of an array.

    Raises:
        ValueError: an axis cannot be divided evenly.
    """
    check_compatible_aval(sharding, global_shape)
    counts = sharding.counts(len(global_shape))
    return tuple(size // count for size, count in zip(global_shape, counts, strict=True))


def block_indices(sharding: Sharding, global_shape: Shape) -> list[Index]:
    """The index of each device's block in an array of a shape, in the order of the devices."""
    blocks = shard_shape(sharding, global_shape)
    counts = sharding.counts(len(global_shape))
    return [
        tuple(
            slice(None) if count == 1 else slice(i * size, (i + 1) * size, None)
            for i, size, count in zip(position, blocks, counts, strict=True)
        )
        for position in sharding.positions(len(global_shape))
    ]


def devices_indices_map(sharding: Sharding, global_shape: Shape) -> Mapping[Device, Index]:
    """The index of each device's block in an array of a shape."""
    return dict(zip(sharding.devices, block_indices(sharding, global_shape), strict=True))


def is_equivalent_to(sharding: Sharding, other: Sharding, ndim: int) -> bool:
    """Whether each device holds the same block of arrays of a rank, in the same kind of memory, by two shardings."""
    return sharding is other or (
        sharding.devices == other.devices
        and sharding.memory_kind == other.memory_kind
        and sharding.counts(ndim) == other.counts(ndim)
        and list(sharding.positions(ndim)) == list(other.positions(ndim))
    )


def _with_memory_kind(sharding: Sharding, kind: str) -> Sharding:
    (device,) = sharding.devices
    return SingleDeviceSharding(device, memory_kind=kind)


def is_local(device: Device) -> bool:
    """Whether a device belongs to this process."""
    return device.process_index == device.backend.processes[0]


def _local_indices(sharding: Sharding, global_shape: Shape) -> Mapping[Device, Index]:
    found = devices_indices_map(sharding, global_shape)
    return {device: index for device, index in found.items() if is_local(device)}


def _method(function: Callable[..., Any]) -> Callable[[Sharding], Any]:
    return lambda sharding: partial(function, sharding)


# What a sharding has by JAX's names, as functions of it.
ATTRIBUTES: dict[str, Callable[[Sharding], Any]] = {
    "_addressable_device_assignment": lambda s: tuple(filter(is_local, s.devices)),
    "_device_assignment": lambda s: s.devices,
    "addressable_devices": lambda s: set(filter(is_local, s.devices)),
    "addressable_devices_indices_map": _method(_local_indices),
    "check_compatible_aval": _method(check_compatible_aval),
    "device_set": lambda s: set(s.devices),
    "devices_indices_map": _method(devices_indices_map),
    "has_addressable_devices": lambda s: any(map(is_local, s.devices)),
    "is_equivalent_to": _method(is_equivalent_to),
    "is_fully_addressable": lambda s: all(map(is_local, s.devices)),
    "memory_kind": lambda s: "device",
    "num_devices": lambda s: len(s.devices),
    "shard_shape": _method(shard_shape),
    "with_memory_kind": _method(_with_memory_kind),
}
