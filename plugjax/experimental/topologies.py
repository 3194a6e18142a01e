"""Devices that programs may be compiled for: names of ``jax.experimental.topologies``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from plugjax.extend.backend import devices
from plugjax.extend.core import Device


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
) -> NoReturn:
    """Refused: devices that are not there are described by libraries for TPUs and GPUs, and no backend has one.

    Raises:
        RuntimeError: for TPUs, which is the default.
        NotImplementedError: for other platforms.

    Example:
        >>> from plugjax.experimental.topologies import get_topology_desc
        >>> get_topology_desc("2x2", "cpu")
        Traceback (most recent call last):
        NotImplementedError: topology not implemented for cpu: ...
    """
    del kwargs
    if platform in (None, "tpu"):
        raise RuntimeError(
            f"TPU support not installed; cannot generate TPU topology {topology_name!r}. Use get_attached_topology."
        )
    raise NotImplementedError(
        f"topology not implemented for {platform}: no backend describes devices that are not there. Use get_attached_topology."
    )


__all__ = ["Device", "TopologyDescription", "get_attached_topology", "get_topology_desc"]
