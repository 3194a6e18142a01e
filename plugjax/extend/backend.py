"""What a backend is, and those that are installed."""

from plugjax.core.backend import (
    Backend,
    BackendSpec,
    Executable,
    default_backend,
    default_device,
    device,
    devices,
    get_backend,
)

__all__ = [
    "Backend",
    "BackendSpec",
    "Executable",
    "default_backend",
    "default_device",
    "device",
    "devices",
    "get_backend",
]
