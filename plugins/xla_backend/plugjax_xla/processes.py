"""Several processes whose devices run programs together, on XLA's own runtime.

One process has the service that all report to; it holds a table of keys and values, and barriers. Processors exchange values by gloo.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence

from plugjax_xla import pjrt
from plugjax_xla.jaxlib_shim import coordination_client, coordination_service

_MILLISECONDS = 1000


class ProcessGroup:
    """This process among those of a program.

    Args:
        address: host and port of the service.
        count: number of processes.
        index: index of this one; the first one has the service.
        bind_address: where the service listens; all interfaces on the port of ``address``, if left out.
        timeouts: seconds: ``initialization``, ``heartbeat``, ``shutdown``.
    """

    def __init__(
        self,
        address: str,
        count: int,
        index: int,
        *,
        bind_address: str | None = None,
        timeouts: dict[str, int],
    ) -> None:
        self.address = address
        self.count = count
        self.index = index
        self._timeouts = timeouts
        self._programs = itertools.count()
        self._service = None
        heartbeat, shutdown = timeouts["heartbeat"], timeouts["shutdown"]
        if index == 0:
            bind = bind_address or f"[::]:{address.rsplit(':', 1)[1]}"
            self._service = coordination_service(
                bind, count, heartbeat_timeout=heartbeat, shutdown_timeout=shutdown
            )
        self.client = coordination_client(
            address,
            index,
            init_timeout=timeouts["initialization"],
            heartbeat_timeout=heartbeat,
            shutdown_timeout=shutdown,
            use_compression=True,
        )

    def start(self, num_devices: int) -> pjrt.PjrtClient:
        """Meet the other processes, and make the runtime."""
        self.client.connect()
        return pjrt.distributed_cpu_client(self.client, self.index, self.count, num_devices)

    def stop(self) -> None:
        """Wait until all processes come here, and part from them."""
        self.client.shutdown()
        if self._service is not None:
            self._service.shutdown()
            self._service = None

    def barrier(self, name: str, seconds: float) -> None:
        """Wait until all processes come to a barrier of this name."""
        self.client.wait_at_barrier(name, int(seconds * _MILLISECONDS))

    def put(self, key: str, value: bytes) -> None:
        """Write into the table that all processes see."""
        self.client.key_value_set_bytes(key, value)

    def get(self, key: str, seconds: float) -> bytes:
        """Read from the table; wait until another process has written."""
        value: bytes = self.client.blocking_key_value_get_bytes(key, int(seconds * _MILLISECONDS))
        return value

    def check_program(self, name: str, module: bytes, constants: bytes) -> None:
        """Compare a program with that of the first process.

        Programs over several processes are compiled in the same order in each.

        Raises:
            RuntimeError: it is another one.
        """
        number = next(self._programs)
        own = _digests(name, module, constants)
        key = f"plugjax/programs/{number}"
        if self.index == 0:
            self.put(key, b"\n".join(own))
            return
        theirs = self.get(key, self._timeouts["initialization"]).split(b"\n")
        words = ("the function", "the program", "the constants")
        for what, a, b in zip(words, own, theirs, strict=True):
            if a != b:
                named = f": {a.decode()!r} here, {b.decode()!r} there" if what == words[0] else ""
                raise RuntimeError(
                    f"process {self.index} compiles another program than process 0 for '{name}' (the {number + 1}. over several "
                    f"processes): {what} differs{named}. All processes must run the same program; values that differ between them "
                    "must be arguments, not constants."
                )


def _digests(name: str, module: bytes, constants: bytes) -> Sequence[bytes]:
    return [
        name.encode(),
        hashlib.sha256(module).hexdigest().encode(),
        hashlib.sha256(constants).hexdigest().encode(),
    ]
