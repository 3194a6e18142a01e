"""IREE's runtime: devices, buffers, loaded modules, functions of the host. Light: importing it loads no native library."""

from plugjax_iree.runtime.buffers import ALIGNMENT, DTYPES, aligned_empty, is_opaque
from plugjax_iree.runtime.device import (
    DRIVERS,
    LOCAL_DRIVERS,
    DeviceError,
    RuntimeDevice,
    available_devices,
    available_drivers,
    device_name,
    open_device,
    release_memory,
    vm_instance,
)
from plugjax_iree.runtime.loaded import BufferFunction, LoadedModule

__all__ = [
    "ALIGNMENT",
    "DRIVERS",
    "DTYPES",
    "LOCAL_DRIVERS",
    "BufferFunction",
    "DeviceError",
    "LoadedModule",
    "RuntimeDevice",
    "aligned_empty",
    "available_devices",
    "available_drivers",
    "device_name",
    "is_opaque",
    "open_device",
    "release_memory",
    "vm_instance",
]
