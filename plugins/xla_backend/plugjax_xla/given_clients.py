"""Backends of one runtime each, whose client a function of the user's gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.core import Device
from plugjax_xla.backend import ClientBackend
from plugjax_xla.pjrt import PjrtClient


class GivenBackend(ClientBackend):
    """The devices of a client of XLA's runtime.

    Args:
        name: of the backend.
        factory: gives the client, of jaxlib's class.
        on_drop: called when the backend is given up.

    Raises:
        RuntimeError: there is no client, or it has no devices.
    """

    def __init__(self, name: str, factory: Callable[[], Any], on_drop: Callable[[], None]) -> None:
        super().__init__()
        self.name = name
        self.drop_clients = on_drop
        client = PjrtClient(lambda: _checked(name, factory()))
        for found in client.all_devices:
            raw = found.raw
            device = self.device_of(client.platform, raw.id, raw.device_kind, raw.process_index)
            self._runtime[device] = found
        processes = {device.process_index for device in self._runtime}
        self.processes = (client.raw.process_index(), max(processes) + 1)

    def devices(self) -> Sequence[Device]:
        """The devices of the client, those of other processes among them."""
        return list(self._runtime)


def _checked(name: str, client: Any) -> Any:
    if client is None:
        raise RuntimeError(
            f"Could not initialize backend '{name}': its factory gave None. It must give a client of jaxlib, as "
            "jaxlib.xla_client.make_cpu_client does"
        )
    if not client.devices():
        raise RuntimeError(f"Backend '{name}' provides no devices: its client has none")
    return client
