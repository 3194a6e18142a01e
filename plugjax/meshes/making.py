"""Making meshes of the devices that there are."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from plugjax.core.backend import devices as all_devices
from plugjax.core.device import Device
from plugjax.meshes.mesh import AxisType, Mesh


def device_array(
    who: str, mesh_shape: Sequence[int], devices: Sequence[Device] | None = None
) -> np.ndarray[Any, Any]:
    """Devices in an array of a shape, the default backend's unless others are given.

    Raises:
        ValueError: there are not as many devices as the shape asks for.
    """
    shape = tuple(mesh_shape)
    found = list(all_devices() if devices is None else devices)
    # Devices of one kind make a mesh: beside `iree:local` there is `iree:task` on the same processor.
    if devices is None:
        found = [device for device in found if device.kind == found[0].kind]
    count = math.prod(shape)
    if len(found) < count:
        raise ValueError(
            f"{who}: Number of devices {len(found)} must be >= the product of mesh_shape {shape}. "
            "config.update('jax_num_cpu_devices', n), set before a backend runs, makes n devices of a processor."
        )
    array = np.empty(count, object)
    array[:] = found[:count]
    return array.reshape(shape)


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Hashable],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Device] | None = None,
) -> Mesh:
    """A mesh of the first devices of the default backend.

    Args:
        axis_shapes: sizes of the axes.
        axis_names: their names.
        axis_types: their types, ``Explicit`` unless given.
        devices: take these devices.

    Raises:
        ValueError: there are too few devices, or sizes, names and types differ in number.

    Example:
        >>> import plugjax
        >>> plugjax.make_mesh((1, 1), ("x", "y"))
        Mesh(axis_sizes=(1, 1), axis_names=('x', 'y'), axis_types=(Explicit, Explicit))
    """
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(names)
    return Mesh(device_array("make_mesh", axis_shapes, devices), names, axis_types)
