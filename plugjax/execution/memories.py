"""Memories of a device, by JAX's names.

A backend keeps values where it keeps them; on a device whose memory the host sees, all kinds are the host's memory.
"""

from __future__ import annotations

import enum

from plugjax.core.device import Device
from plugjax.core.errors import JaxRuntimeError


class MemorySpace(enum.Enum):
    """Where a value of a program is meant to be: ``plugjax.memory.Space``.

    Example:
        >>> import plugjax
        >>> plugjax.memory.Space.Host
        MemorySpace.Host
    """

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    __str__ = __repr__


class Memory:
    """One kind of memory of a device.

    Attributes:
        kind: ``"device"``, ``"pinned_host"`` or ``"unpinned_host"``.
    """

    __slots__ = ("_device", "kind")

    def __init__(self, device: Device, kind: str) -> None:
        self._device = device
        self.kind = kind

    @property
    def platform(self) -> str:
        """The hardware of its device."""
        return self._device.platform

    @property
    def process_index(self) -> int:
        """Index of the process that owns its device."""
        return self._device.process_index

    def addressable_by_devices(self) -> list[Device]:
        """The devices that read and write it."""
        return [self._device]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and (other._device, other.kind) == (
            self._device,
            self.kind,
        )

    def __hash__(self) -> int:
        return hash((self._device, self.kind))

    def __repr__(self) -> str:
        return f"Memory({self._device}, {self.kind})"


_HOST_KINDS = ("pinned_host", "unpinned_host")


def memories(device: Device) -> list[Memory]:
    """The memories of a device, the default one first."""
    kinds = ("device", *_HOST_KINDS) if device.host_visible else ("device",)
    return [Memory(device, kind) for kind in kinds]


def memory(device: Device, kind: str) -> Memory:
    """The memory of a kind.

    Raises:
        JaxRuntimeError: the device has none.
    """
    found = memories(device)
    for each in found:
        if each.kind == kind:
            return each
    raise JaxRuntimeError(
        f"INVALID_ARGUMENT: Could not find memory addressable by device {device}. It can address the memory kinds "
        f"{', '.join(m.kind for m in found)}, got {kind!r}."
    )


def checked_memory_kind(device: Device, kind: str) -> str:
    """A kind of memory that a device has.

    Raises:
        ValueError: it has none of this kind.
    """
    try:
        return memory(device, kind).kind
    except JaxRuntimeError as error:
        raise ValueError(str(error).removeprefix("INVALID_ARGUMENT: ")) from None


# By space, the kind of memory that arrays are put to.
SPACE_KINDS = {MemorySpace.Device: "device", MemorySpace.Host: "pinned_host"}


__all__ = ["SPACE_KINDS", "Memory", "MemorySpace", "checked_memory_kind", "memories", "memory"]
