"""Arrays of strings of variable length, of NumPy's ``StringDType``: they lie on CPUs, and are moved and read; nothing computes with them."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Device, Sharding


def is_string_array(value: Any) -> TypeGuard[np.ndarray[Any, Any]]:
    """Whether a value is NumPy's array of strings of variable length."""
    return type(value) is np.ndarray and isinstance(value.dtype, np.dtypes.StringDType)


def string_array(value: np.ndarray[Any, Any], place: Device | Sharding | None) -> Array:
    """The strings as an array.

    Raises:
        TypeError: no place is given, or one with devices of other platforms.
    """
    devices = () if place is None else (place,) if isinstance(place, Device) else place.devices
    if place is None or any(device.platform != "cpu" for device in devices):
        raise TypeError(
            f"String arrays can only be put on CPU devices that are named, got {place}. Give one: device_put(x, plugjax.devices('cpu')[0])."
        )
    return Array(ShapedArray(value.shape, value.dtype), place.committed, value.copy())
