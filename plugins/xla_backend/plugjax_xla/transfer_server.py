"""Arrays that one process fetches from another while both run, by XLA's transfer server.

What is awaited and what is pulled are lists of parts, one for each array and device of the process. jaxlib compares no shapes, and
a pull that fails is an error of the pulled values; `explained` says it in other words. Parts without elements are not sent: jaxlib
would wait for them for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

import numpy as np

from plugjax.extend.core import Device, ShapedArray, Sharding
from plugjax_xla.jaxlib_shim import Aval, await_pull, pull, transfer_server
from plugjax_xla.mesh_runtime import MeshRuntime
from plugjax_xla.partitioned import blocks_of
from plugjax_xla.pjrt import Buffer, PjrtDevice
from plugjax_xla.pull_deadlines import give_up_at

_MISSED = "the other server has not sent the arrays before the timeout, or has ended"
_UNLIKE = "the other server awaits the pull of arrays of other shapes, dtypes or shardings"
# By words of jaxlib. A connection that was given up, or whose server has ended, says one of the last four, as it happens.
_MEANINGS = {
    "Error while transferring: Buffer id:": _UNLIKE,
    "Invalid slicing of buffer size": _UNLIKE,
    "Async transfer object was deleted before transfers completed": _UNLIKE,
    "Error while transferring: Pull expired": _MISSED,
    "RECOVERABLE InjectFailure": _MISSED,
    "SocketServer: Connection closed": _MISSED,
    "= recv() failed errno": _MISSED,
    "= send() failed errno": _MISSED,
}


def explained(message: str) -> str:
    """The words of an error of XLA, behind what they mean if a pull failed."""
    for words, meaning in _MEANINGS.items():
        if words in message:
            return f"TransferConnection.pull: {meaning}. ({message})"
    return message


class Runtimes(Protocol):
    """What connections need of a backend."""

    def runtime_device(self, device: Device) -> PjrtDevice:
        """A device as its runtime knows it."""
        ...

    def mesh_runtime(self, devices: Sequence[Device]) -> MeshRuntime:
        """Several devices as their runtime knows them."""
        ...


class TransferServer:
    """A server of the arrays of a runtime.

    Args:
        runtimes: the backend.
        device: one of the runtime's.
        address: where it listens for requests.
        *settings: where it listens for values, and what else jaxlib takes.
    """

    def __init__(
        self, runtimes: Runtimes, device: PjrtDevice, address: str, *settings: Any
    ) -> None:
        self._runtimes = runtimes
        self._client = device.client.raw
        self._server = transfer_server(self._client, address, *settings)

    def address(self) -> str:
        """Where it listens for requests."""
        found: str = self._server.address()
        return found

    def await_pull(self, uuid: int, buffers: Sequence[Buffer], deadline: datetime | None) -> None:
        """Give buffers to the first pull of a number, until a point in time; there are no empty ones."""
        if buffers:
            await_pull(self._server, uuid, buffers, deadline)

    def connect(self, address: str) -> Connection:
        """A connection to another server."""
        return Connection(self._runtimes, self._client, self._server, address)


class Connection:
    """A connection from a server to another one.

    Args:
        runtimes: the backend.
        client: jaxlib's runtime.
        server: jaxlib's server.
        address: of the other one.
    """

    def __init__(self, runtimes: Runtimes, client: Any, server: Any, address: str) -> None:
        self._runtimes = runtimes
        self._client = client
        self._server = server
        self._address = address
        self._lasting = server.connect(address)

    def pull(
        self,
        uuid: int,
        wanted: Sequence[tuple[ShapedArray, Sharding]],
        deadline: datetime | None,
    ) -> list[Buffer]:
        """Buffers that will hold what the other server gives for a number.

        Args:
            uuid: the number.
            wanted: what is pulled, and how it is spread.
            deadline: when it becomes an error that they hold nothing.
        """
        pieces = [piece for each in wanted for piece in self._pieces(*each)]
        sent = [(device, aval) for device, aval in pieces if 0 not in aval.shape]
        found = iter(self._pulled(uuid, sent, deadline) if sent else ())
        parts = [
            device.put(np.empty(aval.shape, aval.dtype)) if 0 in aval.shape else next(found)
            for device, aval in pieces
        ]
        return [self._joined(aval, sharding, parts) for aval, sharding in wanted]

    def _pulled(
        self, uuid: int, wanted: Sequence[tuple[PjrtDevice, Aval]], deadline: datetime | None
    ) -> list[Buffer]:
        """The buffer of each part."""
        # Only a whole connection can be given up, so what may be has its own.
        raw = self._lasting if deadline is None else self._server.connect(self._address)
        specs = [(device.raw, aval) for device, aval in wanted]
        found = pull(raw, self._client, uuid, specs, deadline)
        if deadline is not None:
            give_up_at(raw, found, deadline.timestamp())
        return [device.adopt_part(x, aval) for x, (device, aval) in zip(found, wanted, strict=True)]

    def _pieces(self, aval: ShapedArray, sharding: Sharding) -> list[tuple[PjrtDevice, Aval]]:
        """The devices of this process that hold a part, and what it is."""
        counts = sharding.counts(aval.ndim)
        part = Aval(
            tuple(n // count for n, count in zip(aval.shape, counts, strict=True)), aval.dtype
        )
        devices = sharding.devices
        if len(devices) == 1:
            return [(self._runtimes.runtime_device(devices[0]), part)]
        mesh = self._runtimes.mesh_runtime(devices)
        return [(mesh.devices[i], part) for i in mesh.local]

    def _joined(self, aval: ShapedArray, sharding: Sharding, parts: list[Buffer]) -> Buffer:
        """The buffer of the first of the parts, which it takes out."""
        if len(sharding.devices) == 1:
            return parts.pop(0)
        mesh = self._runtimes.mesh_runtime(sharding.devices)
        own = [parts.pop(0) for _ in mesh.local]
        return mesh.joined(own, aval.shape, aval.dtype, blocks_of(sharding, aval.ndim))
