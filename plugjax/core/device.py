"""Devices, shardings and placements: where an array lives.

A device is named ``backend:index`` or ``backend:kind:index``: ``numpy:0``, ``xla:cpu:0``, ``iree:local:0``. A sharding says how
an array is spread over devices; there is one kind now, on a single device. A *placement* joins a sharding with whether
the user chose it (committed); placements are interned and part of every compilation key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plugjax.core.backend import Backend


class Device:
    """One device of a backend.

    Attributes:
        backend: the backend that owns it.
        platform: name under which lowering rules are looked up.
        kind: what it is, within the backend (``cpu``, ``cuda``, ``local`` ...; empty if there is only one kind).
        hardware: what runs its programs: ``cpu``, ``cuda``, ``vulkan`` ...; the kind, if nothing else is said, else ``cpu``.
        id: index among the backend's devices of that kind.
        description: words for a table.
    """

    __slots__ = (
        "__weakref__", "backend", "committed", "description", "hardware", "id", "kind", "uncommitted",
    )  # fmt: skip

    def __init__(
        self, backend: Backend, kind: str, index: int, description: str = "", hardware: str = ""
    ) -> None:
        self.backend = backend
        self.kind = kind
        self.hardware = hardware or kind or "cpu"
        self.id = index
        self.description = description
        sharding = SingleDeviceSharding(self)
        self.committed = Placement(sharding, True)
        self.uncommitted = Placement(sharding, False)

    @property
    def platform(self) -> str:
        """Name of the backend."""
        return self.backend.name

    @property
    def device_kind(self) -> str:
        """Words that describe the hardware."""
        return self.description or self.kind or self.platform

    @property
    def process_index(self) -> int:
        """Index of the process that owns the device; one process for now."""
        return 0

    def __str__(self) -> str:
        parts = (self.backend.name, self.kind, str(self.id))
        return ":".join(part for part in parts if part)

    def __repr__(self) -> str:
        return f"Device({self})"


class Sharding:
    """How an array is spread over devices."""

    __slots__ = ("__weakref__",)

    @property
    def device_set(self) -> set[Device]:
        """The devices that hold a part of the array."""
        raise TypeError(f"{type(self).__name__} has no devices")


class SingleDeviceSharding(Sharding):
    """The whole array on one device."""

    __slots__ = ("device",)

    def __init__(self, device: Device) -> None:
        self.device = device

    @property
    def device_set(self) -> set[Device]:
        """The one device."""
        return {self.device}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and other.device is self.device

    def __hash__(self) -> int:
        return hash((SingleDeviceSharding, id(self.device)))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding({self.device})"


class Placement:
    """A sharding, and whether the user chose it. One object per device and flag: compare by identity."""

    __slots__ = ("__weakref__", "backend", "committed", "device", "sharding")

    def __init__(self, sharding: SingleDeviceSharding, committed: bool) -> None:
        self.sharding = sharding
        self.committed = committed
        self.device = sharding.device
        self.backend: Any = sharding.device.backend

    def __repr__(self) -> str:
        return f"Placement({self.device}, committed={self.committed})"


def common_placement(placements: list[Placement], who: str) -> Placement | None:
    """The placement of a result computed from operands at ``placements``.

    Committed operands decide, uncommitted ones follow; ``None`` if there are no operands.

    Raises:
        ValueError: two operands are committed to different devices.
    """
    chosen: Placement | None = None
    for placement in placements:
        if chosen is None or (placement.committed and not chosen.committed):
            chosen = placement
        elif placement.committed and placement is not chosen:
            raise ValueError(
                f"{who}: received incompatible devices: one operand is committed to {chosen.device}, another to "
                f"{placement.device}. Move one of them with plugjax.device_put(x, device)."
            )
    return chosen


def reject_sharding(who: str, out_sharding: object) -> None:
    """Refuse an ``out_sharding``: the results of functions lie on one device, and ``device_put`` says on which.

    Raises:
        TypeError: always.
    """
    raise TypeError(
        f"{who}: out_sharding must be None, since there are no meshes of devices yet; got {out_sharding!r}. "
        "plugjax.device_put chooses a device."
    )
