"""Several processes whose devices run programs together, on XLA's own runtime.

One process has the service that all report to; it holds a table of keys and values, and barriers. Processors exchange values by gloo.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import os
import socket
import time
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
        # Whether an exchange with another process has failed.
        self.lost = False
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
            shutdown_on_destruction=False,
            use_compression=True,
        )

    def start(self, num_devices: int) -> pjrt.PjrtClient:
        """Meet the other processes, and make the runtime."""
        self.client.connect()
        self.put(f"plugjax/places/{self.index}", f"{socket.gethostname()} {os.getpid()}".encode())
        return pjrt.distributed_cpu_client(self.client, self.index, self.count, num_devices)

    def stop(self, patience: float | None = None) -> None:
        """Part from the other processes.

        The first one, which has the service, waits for the others to come here or to end; not if one of them was lost.

        Args:
            patience: for how many seconds; as long as a shutdown may take, if left out.
        """
        if self.lost:
            # The end of the service would be a fatal error of the client's thread: both live until the process ends.
            for kept in (self._service, self.client):
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
            return
        if self._service is None:
            # The service may have gone.
            with contextlib.suppress(RuntimeError):
                self.put(f"plugjax/left/{self.index}", b"")
        else:
            self._await_others(self._timeouts["shutdown"] if patience is None else patience)
        self.client.shutdown()
        if self._service is not None:
            self._service.shutdown()
            self._service = None

    def _await_others(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        remaining = {i for i in range(self.count) if i != self.index}
        while remaining and time.monotonic() < deadline:
            other = min(remaining)
            try:
                self.get(f"plugjax/left/{other}", min(1.0, patience))
            except RuntimeError:
                remaining -= self.ended().keys()
            else:
                remaining.remove(other)

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
        """Compare a program with those of the other processes.

        Programs over several processes are compiled in the same order in each; each compares its own with those of all others.

        Raises:
            RuntimeError: it is another one.
        """
        number = next(self._programs)
        own = _digests(name, module, constants)
        key = f"plugjax/programs/{number}"
        self.put(f"{key}/{self.index}", b"\n".join(own))
        for other in range(self.count):
            if other != self.index:
                found = self.get(f"{key}/{other}", self._timeouts["initialization"])
                self._compare(name, number, own, other, found.split(b"\n"))

    def _compare(
        self, name: str, number: int, own: Sequence[bytes], other: int, theirs: Sequence[bytes]
    ) -> None:
        words = ("the function", "the program", "the constants")
        for what, a, b in zip(words, own, theirs, strict=True):
            if a != b:
                named = f": {a.decode()!r} here, {b.decode()!r} there" if what == words[0] else ""
                raise RuntimeError(
                    f"process {self.index} compiles another program than process {other} for '{name}' (the program of number "
                    f"{number} over several processes): {what} differs{named}. All processes must run the same program; values that "
                    "differ between them must be arguments, not constants."
                )

    def _places(self) -> dict[int, list[str]]:
        """Host and number of each other process."""
        others = (i for i in range(self.count) if i != self.index)
        return {i: self.get(f"plugjax/places/{i}", 1.0).decode().split(" ") for i in others}

    def ended(self) -> dict[int, str]:
        """The processes of this machine that have ended, and words for each."""
        return {
            i: f"{i} (pid {number} on this machine)"
            for i, (host, number) in self._places().items()
            if host == socket.gethostname() and not _is_running(int(number))
        }

    def on_failure(self, error: RuntimeError) -> RuntimeError | None:
        """What to raise for an exchange that failed because another process has ended; ``None`` for other failures.

        Processes of this machine are asked for; of those elsewhere it is only known that one has ended.
        """
        if not any(word in str(error) for word in _CONNECTION_WORDS):
            return None
        self.lost = True
        ended = list(self.ended().values())
        elsewhere = [
            f"{i} on {place[0]}"
            for i, place in self._places().items()
            if place[0] != socket.gethostname()
        ]
        if ended or self.count == 2:
            words = ", ".join(ended) or elsewhere[0] if (ended or elsewhere) else "the other one"
            what = f"process {words} has ended"
        else:
            what = f"another process has ended: one of {', '.join(elsewhere) or 'those of this machine'}"
        return RuntimeError(
            f"{what}, while process {self.index} exchanged values with it. Start all processes again. ({error})"
        )


# Words of gloo.
_CONNECTION_WORDS = (
    "Connection closed by peer",
    "Connection reset",
    "Connection refused",
    "Broken pipe",
)


def _is_running(number: int) -> bool:
    """Whether a process of this machine runs: one that has ended may wait for its parent."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return True


def _digests(name: str, module: bytes, constants: bytes) -> Sequence[bytes]:
    return [
        name.encode(),
        hashlib.sha256(module).hexdigest().encode(),
        hashlib.sha256(constants).hexdigest().encode(),
    ]
