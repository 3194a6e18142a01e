"""The IREE backend: StableHLO compiled in a helper process, run by IREE's runtime in this one.

Devices: ``iree:local:0`` runs in the calling thread (best for small programs), ``iree:task:0`` on a pool of threads (best
from about 200 us of work); Vulkan, CUDA and HIP devices appear where a driver finds one. This module has devices and
buffers: all that eager operations need. Lowering and compiling (`plugjax_iree.compile.program`) load jaxlib, when the first
program is compiled.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from plugjax.extend.backend import (
    Backend,
    Executable,
    register_backend_cache,
    virtual_cpu_devices,
)
from plugjax.extend.core import (
    ClosedJaxpr,
    Device,
    ShapedArray,
    Sharding,
    register_internal,
)
from plugjax_iree.runtime import (
    RuntimeDevice,
    available_devices,
    available_drivers,
    device_name,
    is_opaque,
    open_device,
    release_memory,
)

register_internal(os.path.dirname(__file__))

_LOCAL = {"local": "local-sync", "task": "local-task"}
_DESCRIPTIONS = {
    "local": "IREE on the CPU, in the calling thread",
    "task": "IREE on the CPU, a pool of threads",
}


class _KeptMemory:
    """What ``clear_caches`` gives back to the system."""

    def cache_clear(self) -> None:
        release_memory()


class IreeBackend(Backend):
    """Compiles programs with IREE."""

    name = "iree"
    dialects = ("stablehlo",)
    careful_options: Mapping[str, Any] = MappingProxyType({"apart": True})
    lowers_for = ("cpu", "cuda", "rocm", "vulkan")
    # On two cores 1,000 equations take 2 to 7 s.
    patience = 500

    def __init__(self) -> None:
        # Devices of the processor by kind; there may be several of each, which share one of the runtime's.
        self._growth = threading.Lock()
        self._local = {kind: [self._local_device(kind, 0)] for kind in _LOCAL}
        self._uris: dict[Device, str] = {}
        devices = []
        for driver in available_drivers():
            if driver in _LOCAL.values():
                continue
            for index, uri in enumerate(available_devices(driver)):
                words = f"IREE on {device_name(uri) or uri}"
                device = Device(self, driver, index, words, host_visible=False)
                self._uris[device] = uri
                devices.append(device)
        self._accelerators = tuple(devices)
        self._kept = _KeptMemory()
        register_backend_cache(self._kept, "memory that waits for results")

    def _local_device(self, kind: str, index: int) -> Device:
        return Device(self, kind, index, _DESCRIPTIONS[kind], "cpu")

    def devices(self) -> Sequence[Device]:
        """``iree:local:0``, ``iree:task:0``, each as often as ``num_cpu_devices`` says, and accelerators that are there."""
        count = virtual_cpu_devices()
        if any(len(made) < count for made in self._local.values()):
            with self._growth:
                for kind, made in self._local.items():
                    made += [self._local_device(kind, index) for index in range(len(made), count)]
        local, task = (made[:count] for made in self._local.values())
        return (*local, *task, *self._accelerators)

    def runtime(self, device: Device | Sharding) -> RuntimeDevice:
        """The runtime's device; opened on first use. What is spread over several of the processor's is in their one memory."""
        first = device.devices[0] if isinstance(device, Sharding) else device
        return open_device(_LOCAL.get(first.kind) or self._uris[first])

    def put(self, value: np.ndarray[Any, Any], device: Device) -> Any:
        """A buffer; shares the memory if that is aligned as compiled code needs."""
        array = np.asarray(value)
        try:
            return self.runtime(device).put(array, owned=True)
        except TypeError:
            # Numbers of less than a byte: programs that take or give them run on the host, which reads their bytes.
            if not is_opaque(array.dtype):
                raise
            return self.runtime(device).put(array.view(np.uint8), owned=True)

    def get(self, buffer: Any, aval: ShapedArray, device: Device) -> np.ndarray[Any, Any]:
        """The values, without a copy where the memory can be mapped."""
        return self.runtime(device).get(buffer, aval.dtype, aval.shape)

    def compile(self, jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]) -> Executable:
        """Lower, compile or find in the cache, and load."""
        driver = "local" if device.kind in _LOCAL else device.kind
        arch = _architecture(driver, self._uris[device]) if device in self._uris else ""
        compiled: Executable = _programs().compile_program(
            jaxpr, self.runtime(device), driver, device.hardware, options, arch
        )
        return compiled

    def lower(self, jaxpr: ClosedJaxpr, options: Mapping[str, Any], dialect: str) -> str:
        """The StableHLO text that IREE gets.

        Raises:
            ValueError: for several kinds of hardware at once.
        """
        platforms = options.get("platforms", (self.devices()[0].hardware,))
        if len(platforms) > 1:
            raise ValueError(
                f"lower: a module of IREE is for one kind of hardware, not for {platforms}."
            )
        lowered = _programs().lower_program(jaxpr, platforms[0], options)
        return str(lowered.as_text(debug_info=bool(options.get("debug_info"))))

    def reproduction_script(self) -> str:
        """Compiles and runs the program, and compares its results."""
        script: str = importlib.import_module("plugjax_iree.reproduction").SCRIPT
        return script

    def workarounds(self) -> Sequence[tuple[str, ...]]:
        """The table of `plugjax_iree.workarounds`."""
        found: Sequence[tuple[str, ...]] = importlib.import_module(
            "plugjax_iree.workarounds.listing"
        ).rows()
        return found


def _architecture(driver: str, uri: str) -> str:
    found: str = importlib.import_module("plugjax_iree.compile.target").arch_of(
        driver, device_name(uri)
    )
    return found


def _programs() -> Any:
    # Named lazy-loading point: jaxlib, StableHLO and the lowering rules.
    return importlib.import_module("plugjax_iree.compile.program")
