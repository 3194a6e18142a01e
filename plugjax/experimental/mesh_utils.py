"""Arrays of devices for meshes (``jax.experimental.mesh_utils``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import Device
from plugjax.extend.meshes import device_array

# By ``device.device_kind`` of the last device, ``(mesh_shape, devices, contiguous_submeshes=...)``: the devices in an array of the
# shape, or ``None``, for the usual order.
device_kind_handler_dict: dict[str, Callable[..., np.ndarray[Any, Any] | None]] = {}


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Devices in an array of a shape, for a :class:`~plugjax.sharding.Mesh`.

    Args:
        mesh_shape: the shape.
        devices: all of them, in an order; those of the default backend, if left out.
        contiguous_submeshes: for functions in :data:`device_kind_handler_dict`; it is about the network of TPUs.
        allow_split_physical_axes: accepted as in JAX: likewise.

    Raises:
        ValueError: there are more or fewer devices than the shape asks for.

    Example:
        >>> from plugjax.experimental import mesh_utils
        >>> mesh_utils.create_device_mesh((1, 1)).shape
        (1, 1)
    """
    del allow_split_physical_axes
    found = device_array("create_device_mesh", mesh_shape, devices)
    count = math.prod(mesh_shape)
    if devices is not None and len(devices) != count:
        raise ValueError(
            f"Number of devices {len(devices)} must equal the product of mesh_shape {tuple(mesh_shape)}."
        )
    in_order = list(found.flat)
    handler = device_kind_handler_dict.get(in_order[-1].device_kind) if in_order else None
    if handler is not None:
        arranged = handler(tuple(mesh_shape), in_order, contiguous_submeshes=contiguous_submeshes)
        if arranged is not None:
            return arranged
    return found


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Devices of several groups, of which each axis of the array crosses some and stays within others.

    Args:
        mesh_shape: shape within a group.
        dcn_mesh_shape: shape of the array of groups; axis by axis, the result's shape is the product.
        devices: the devices; those of the default backend, if left out.
        process_is_granule: whether the devices of a process are a group; else those of a slice, of which each process is one.
        should_sort_granules_by_key: whether groups are sorted by their number.
        allow_split_physical_axes: accepted as in JAX: it is for the network of TPUs.

    Raises:
        ValueError: there are more or fewer groups than ``dcn_mesh_shape`` asks for.

    Example:
        >>> from plugjax.experimental import mesh_utils
        >>> mesh_utils.create_hybrid_device_mesh((1, 1), (1, 1)).shape
        (1, 1)
    """
    del allow_split_physical_axes, process_is_granule
    found = list(
        device_array("create_hybrid_device_mesh", mesh_shape).flat if devices is None else devices
    )
    groups: dict[int, list[Device]] = {}
    for device in found:
        groups.setdefault(device.process_index, []).append(device)
    keys = sorted(groups) if should_sort_granules_by_key else list(groups)
    if len(keys) != math.prod(dcn_mesh_shape):
        raise ValueError(
            f"Number of slices {len(keys)} must equal the product of dcn_mesh_shape {tuple(dcn_mesh_shape)}."
        )
    blocks = np.empty(len(keys), object)
    for i, key in enumerate(keys):
        blocks[i] = create_device_mesh(mesh_shape, groups[key])
    arranged = blocks.reshape(tuple(dcn_mesh_shape))
    result: np.ndarray[Any, Any] = np.block(arranged.tolist())
    return result


__all__ = ["create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict"]
