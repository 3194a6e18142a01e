"""The backend ``xla``: the runtimes that it starts itself, for the processor, TPUs and NVIDIA GPUs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from plugjax.extend.backend import virtual_cpu_devices
from plugjax.extend.core import Device
from plugjax_xla import pjrt
from plugjax_xla.backend import ClientBackend
from plugjax_xla.cuda_plugin import find_cuda_plugin
from plugjax_xla.modules import PLATFORM
from plugjax_xla.pjrt import PjrtClient, PjrtDevice
from plugjax_xla.processes import ProcessGroup
from plugjax_xla.tpu_plugin import tpu_chips, tpu_library

# The driver's device file; without it there is no GPU.
_NVIDIA_DRIVER = Path("/dev/nvidiactl")


class XlaBackend(ClientBackend):
    """Compiles programs with XLA, for the processor, TPUs and NVIDIA GPUs.

    The runtime starts when the first buffer is put or the first program is compiled.
    """

    name = PLATFORM

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._accelerators = [*self._find_tpus(), *self._find_gpus()]
        self._cpus = [self._processor(0)]
        self._started = 0
        self._global: list[Device] = []

    def devices(self) -> Sequence[Device]:
        """TPUs and GPUs, if there are any and the runtime is installed, then the processor, as often as ``num_cpu_devices`` says."""
        if self.group is not None:
            return self._global
        count = self._started or virtual_cpu_devices()
        for index in range(len(self._cpus), count):
            self._cpus.append(self._processor(index))
        return [*self._accelerators, *self._cpus[:count]]

    def _processor(self, index: int, process_index: int = 0) -> Device:
        return self.device_of("cpu", index, "CPU", process_index)

    def _find_tpus(self) -> list[Device]:
        if not tpu_chips() or tpu_library() is None:
            return []
        return self._found("tpu", pjrt.tpu_client)

    def _find_gpus(self) -> list[Device]:
        if not _NVIDIA_DRIVER.exists() or find_cuda_plugin() is None:
            return []
        return self._found("cuda", pjrt.cuda_client)

    def _found(self, kind: str, client: Callable[[], PjrtClient]) -> list[Device]:
        try:
            found = client().devices
        except pjrt.ClientUnavailable:
            return []
        devices = [self.device_of(kind, each.id, each.kind) for each in found]
        self._runtime.update(zip(devices, found, strict=True))
        return devices

    def join_processes(self, address: str, count: int, index: int, **settings: Any) -> None:
        """Become one of several processes whose devices run programs together; arguments as for `ProcessGroup`.

        Raises:
            RuntimeError: this process has computed already.
        """
        if self._started or self._runtime:
            raise RuntimeError(
                "distributed.initialize() must be called before any JAX calls that might initialise the XLA backend: it computes "
                "already in this process."
            )
        group = ProcessGroup(address, count, index, **settings)
        client = group.start(virtual_cpu_devices())
        self.processes = (group.index, group.count)
        self._started = len(client.devices)
        for found in client.all_devices:
            raw = found.raw
            device = self._processor(raw.id, raw.process_index)
            self._global.append(device)
            self._runtime[device] = found
        self.group = group

    def leave_processes(self, patience: float | None = None) -> None:
        """Tell the other processes that this one ends; ``patience`` as for ``ProcessGroup.stop``."""
        if self.group is not None:
            self.group.stop(patience)

    def drop_clients(self) -> None:
        """Have backends that are loaded later start runtimes of their own.

        Raises:
            RuntimeError: other processes compute with this one.
        """
        if self.group is not None:
            raise RuntimeError(
                "clear_backends: this process runs programs together with others, which know its devices. Call it in programs of one "
                "process."
            )
        pjrt.drop_clients()

    def runtime_device(self, device: Device) -> PjrtDevice:
        """The device as the runtime knows it, which it starts."""
        found: PjrtDevice | None = self._runtime.get(device)
        if found is None:
            with self._lock:
                self._started = self._started or max(len(self._cpus), virtual_cpu_devices())
                client = pjrt.cpu_client(self._started)
                if device.id >= self._started:
                    raise RuntimeError(
                        f"{device}: XLA runs with {self._started} devices of the processor already. Set jax_num_cpu_devices "
                        "before the first computation."
                    )
                found = self._runtime[device] = client.devices[device.id]
        return found
