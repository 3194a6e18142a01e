"""What a backend is, and those that are installed."""

from plugjax.core.backend import (
    BackendSpec,
    DeviceLike,
    default_backend,
    default_device,
    default_device as get_default_device,
    device,
    devices,
    get_backend,
)
from plugjax.core.device import Backend, Executable
from plugjax.core.errors import UnknownBackendError
from plugjax.core.registry import active
from plugjax.execution.jit.api import clear_caches as clear_in_memory_compilation_cache
from plugjax.meshes.virtual import virtual_cpu_devices


def backends() -> dict[str, Backend]:
    """The installed backends by name, the one of highest priority first; those that cannot be loaded are left out."""
    found = {}
    for spec in sorted(active().backends().values(), key=lambda spec: -spec.priority):
        try:
            found[spec.name] = get_backend(spec.name)
        except UnknownBackendError:
            continue
    return found


__all__ = [
    "Backend",
    "BackendSpec",
    "DeviceLike",
    "Executable",
    "backends",
    "clear_in_memory_compilation_cache",
    "default_backend",
    "default_device",
    "device",
    "devices",
    "get_backend",
    "get_default_device",
    "virtual_cpu_devices",
]
