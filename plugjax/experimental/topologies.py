"""Devices that programs may be compiled for: the names of ``jax.experimental.topologies``.

Those that are not there come from plugins: a module of the hook ``plugjax_extensions`` under the name ``topologies`` has ``BACKEND``, the name of
its backend, ``PLATFORMS``, the hardware that it compiles for, and ``described(platform, name, **settings)``, which gives the devices. Their
backend compiles only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from plugjax.experimental.mesh_utils import create_device_mesh
from plugjax.extend import registry
from plugjax.extend.backend import devices
from plugjax.extend.core import Device
from plugjax.extend.meshes import Mesh


class TopologyDescription:
    """Devices.

    Attributes:
        devices: the devices.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        self.devices = list(devices)


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The devices that are there.

    Args:
        platform: name of a backend, or of hardware; by default the backend of uncommitted arrays.

    Raises:
        RuntimeError: there is no such backend.

    Example:
        >>> from plugjax.experimental.topologies import get_attached_topology
        >>> get_attached_topology("numpy").devices
        [Device(numpy:0)]
    """
    return TopologyDescription(devices(platform))


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: Any
) -> TopologyDescription:
    """Devices that are not there, for which programs can be compiled.

    Args:
        topology_name: what the platform's compiler calls it: ``"v5e:2x2"`` of TPUs, ``"a100:1x1x4"`` of GPUs, ``"sm_80"`` for IREE.
        platform: the hardware, ``"tpu"`` by default; a backend may stand before it, as ``"iree:cuda"``.
        **kwargs: further settings of the compiler, such as ``target_config`` and ``topology`` of XLA for GPUs.

    Raises:
        UnknownBackendError: what compiles for the platform is not installed; it is a RuntimeError.
        RuntimeError: it knows no such topology.
        NotImplementedError: no plugin compiles for the platform.

    Differs from JAX:
        GPUs have names, and the backend can be chosen.

    Example:
        >>> from plugjax.experimental.topologies import get_topology_desc
        >>> get_topology_desc("2x2", "abacus")
        Traceback (most recent call last):
        NotImplementedError: topology not implemented for abacus: ...
        >>> import plugjax
        >>> (device,) = get_topology_desc("sm_80", "iree:cuda").devices
        >>> compiled = plugjax.jit(lambda x: x + x, device=device).lower(1.0).compile()  # doctest: +SKIP
        >>> compiled.memory_analysis().output_size_in_bytes  # doctest: +SKIP
        4
    """
    asked = platform or "tpu"
    backend, _, hardware = asked.rpartition(":")
    known = []
    for module in _compilers():
        if backend in ("", module.BACKEND):
            # A processor is there anyway: another one is meant where the backend is named too.
            if hardware in module.PLATFORMS and (backend or hardware != "cpu"):
                return TopologyDescription(module.described(hardware, topology_name, **kwargs))
            known += [f"{module.BACKEND}:{each}" for each in module.PLATFORMS]
    raise NotImplementedError(
        f"topology not implemented for {asked}: installed plugins compile ahead for {', '.join(known) or 'nothing'}. Use "
        "get_attached_topology for devices that are there."
    )


def _compilers() -> Iterator[Any]:
    """What describes devices to compile for, of each plugin that does; the best backend first."""
    registered = registry.active()
    backends = registered.backends()
    found = [
        loaders["topologies"]()
        for loaders in registered.hook.plugjax_extensions()
        if "topologies" in loaders
    ]
    present = [module for module in found if module.BACKEND in backends]
    yield from sorted(present, key=lambda module: -backends[module.BACKEND].priority)


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """The devices of a topology as a mesh.

    Args:
        topo: the topology.
        mesh_shape: sizes of the axes.
        axis_names: their names.
        contiguous_submeshes: as in ``mesh_utils.create_device_mesh``.

    Raises:
        ValueError: the product of the sizes is not the number of devices.

    Example:
        >>> from plugjax.experimental.topologies import get_attached_topology, make_mesh
        >>> make_mesh(get_attached_topology("numpy"), (1, 1), ("x", "y")).axis_names
        ('x', 'y')
    """
    found = create_device_mesh(mesh_shape, topo.devices, contiguous_submeshes=contiguous_submeshes)
    return Mesh(found, axis_names)


__all__ = [
    "Device",
    "TopologyDescription",
    "get_attached_topology",
    "get_topology_desc",
    "make_mesh",
]
