"""Context managers over the configuration, under JAX's names."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from plugjax.core.array import aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.backend import as_device, devices
from plugjax.core.config import config
from plugjax.core.device import Device


def default_device(device: Any) -> AbstractContextManager[None]:
    """Within the block, uncommitted arrays are made on ``device``: a Device or a name such as ``"iree:local:0"``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> with plugjax.default_device("numpy"):
        ...     print(jnp.ones(2).device)
        numpy:0
    """
    return config.override("default_device", as_device(device) if device is not None else None)


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Within the block, ``jit`` and control flow run as plain Python, one primitive at a time."""
    return config.override("disable_jit", disable)


def enable_x64(new_val: bool = True) -> AbstractContextManager[None]:
    """Within the block, 64-bit dtypes are kept."""
    return config.override("enable_x64", new_val)


def numpy_dtype_promotion(new_val: str) -> AbstractContextManager[None]:
    """Within the block, implicit dtype promotion is ``"standard"`` or ``"strict"``."""
    return config.override("numpy_dtype_promotion", new_val)


def numpy_rank_promotion(new_val: str) -> AbstractContextManager[None]:
    """Within the block, implicit rank promotion is ``"allow"``, ``"warn"`` or ``"raise"``."""
    return config.override("numpy_rank_promotion", new_val)


def default_matmul_precision(new_val: Any) -> AbstractContextManager[None]:
    """Within the block, products of matrices have this precision unless they say otherwise."""
    return config.override("default_matmul_precision", new_val)


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Devices of this process; all of them, as long as there is one process."""
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """Number of devices of a backend."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Number of a backend's devices in this process."""
    return len(devices(backend))


def typeof(x: Any) -> ShapedArray:
    """The abstract value of an array, tracer or scalar.

    Example:
        >>> import plugjax
        >>> plugjax.typeof(1.5)
        ShapedArray(float32[], weak_type=True)
    """
    return aval_of(x)
