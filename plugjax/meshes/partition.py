"""How a program is spread over devices."""

from __future__ import annotations

from dataclasses import dataclass

from plugjax.core.backend import default_device
from plugjax.core.device import Backend, Device, Sharding
from plugjax.meshes.mesh import AbstractMesh, Mesh


@dataclass(frozen=True)
class Partition:
    """How a program is spread over devices that run it together.

    Attributes:
        mesh: its devices, in an order; axes that nothing else names are those of results.
        arguments: how each argument is spread; ``None`` leaves it to the compiler.
        results: likewise.
        kinds: for each result the kind of memory that it is in, if that is left open; empty if all are the device's own.
    """

    mesh: Mesh | AbstractMesh
    arguments: tuple[Sharding | None, ...]
    results: tuple[Sharding | None, ...]
    kinds: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices."""
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError(
                f"{self.mesh} has no devices: the program can be lowered, but neither compiled nor run."
            )
        return self.mesh.flat_devices

    @property
    def backend(self) -> Backend:
        """The backend of the devices; that of the default device for an abstract mesh."""
        if isinstance(self.mesh, AbstractMesh):
            return default_device().backend
        return self.mesh.flat_devices[0].backend
