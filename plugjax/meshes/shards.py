"""The parts of an array on its devices."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray, physical_aval
from plugjax.core.device import Device, Sharding, SingleDeviceSharding
from plugjax.meshes.geometry import Index, block_indices, is_local


class Shard:
    """The part of an array on one device.

    Attributes:
        device: the device.
        index: where the part lies in the array.
        replica_id: how many devices before this one hold the same part.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.arange(3).addressable_shards[0].index
        (slice(None, None, None),)
    """

    __slots__ = ("_array", "_number", "device", "index", "replica_id")

    def __init__(
        self, array: Array, number: int, device: Device, index: Index, replica_id: int
    ) -> None:
        self._array = array
        self._number = number
        self.device = device
        self.index = index
        self.replica_id = replica_id

    @property
    def data(self) -> Any:
        """The part, an array on the device; ``None`` if another process has the device."""
        array = self._array
        if not is_local(self.device):
            return None
        kind = array._placement.sharding.memory_kind
        placement = SingleDeviceSharding(self.device, memory_kind=kind).committed
        if not array._placement.several:
            return Array(array.aval, placement, array._host, array._buffer)
        aval = ShapedArray(
            block_shape(array._placement.sharding, array.aval.shape),
            array.aval.dtype,
            array.aval.weak_type,
        )
        buffer = array._buffer
        found = None if buffer is None else placement.backend.block(buffer, self._number)
        if found is not None:
            return Array(aval, placement, None, found)
        host = np.asarray(array._fetch())
        inner = physical_aval(array.aval).shape[len(self.index) :]
        part = host[(*self.index, *(slice(None),) * len(inner))]
        return Array(aval, placement, np.ascontiguousarray(part).reshape(part.shape))

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def block_shape(sharding: Sharding, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the parts of an array, which is known to be divisible."""
    return tuple(n // count for n, count in zip(shape, sharding.counts(len(shape)), strict=True))


def addressable_shards(array: Any) -> list[Shard]:
    """The parts of an array on the devices of this process."""
    return [shard for shard in global_shards(array) if is_local(shard.device)]


def global_shards(array: Any) -> list[Shard]:
    """The parts of an array on all devices."""
    if array.is_deleted():
        raise array._deleted()
    sharding = array._placement.sharding
    seen: Counter[Any] = Counter()
    shards = []
    for number, (device, index) in enumerate(
        zip(sharding.devices, block_indices(sharding, array.aval.shape), strict=True)
    ):
        key = tuple((s.start, s.stop) for s in index)
        shards.append(Shard(array, number, device, index, seen[key]))
        seen[key] += 1
    return shards
