"""Several processes whose devices run programs together, on XLA's own runtime.

One process has the service that all report to; it holds a table of keys and values, and barriers. Processors exchange values by gloo.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import socket
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from plugjax_xla import pjrt
from plugjax_xla.jaxlib_shim import (
    coordination_client,
    coordination_service,
    preemption_manager,
    set_default_flag,
)

_MILLISECONDS = 1000
# The connections of a process are closed before it counts as ended.
_SECONDS_TO_END = 1.0


class ProcessGroup:
    """This process among those of a program.

    Args:
        address: host and port of the service.
        count: number of processes.
        index: index of this one; the first one has the service.
        bind_address: where the service listens; all interfaces on the port of ``address``, if left out.
        timeouts: seconds: ``initialization``, ``heartbeat``, ``shutdown``.
        recoverable: whether the others go on when a process has died; otherwise XLA ends them, after ``heartbeat`` seconds. The first
            process has the service, and must live.
    """

    def __init__(
        self,
        address: str,
        count: int,
        index: int,
        *,
        bind_address: str | None = None,
        timeouts: dict[str, int],
        recoverable: bool = False,
    ) -> None:
        self.address = address
        self.count = count
        self.index = index
        self._timeouts = timeouts
        self._recoverable = recoverable
        # How many programs were compared, by the processes that run them.
        self._programs: Counter[tuple[int, ...]] = Counter()
        # The incarnations of processes as they were last asked for.
        self._last_live: dict[tuple[int, ...], dict[int, int]] = {}
        self._preemption: Any = None
        self._service = None
        # Whether an exchange with another process has failed.
        self.lost = False
        heartbeat, shutdown = timeouts["heartbeat"], timeouts["shutdown"]
        if recoverable:
            # One process hears of the death of another, its neighbour only waits for this one.
            set_default_flag("xla_cpu_collective_timeout_seconds", heartbeat)
        if index == 0:
            bind = bind_address or f"[::]:{address.rsplit(':', 1)[1]}"
            self._service = coordination_service(
                bind,
                count,
                recoverable=recoverable,
                heartbeat_timeout=heartbeat,
                shutdown_timeout=shutdown,
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
        """Meet the other processes, and make the runtime.

        Raises:
            RuntimeError: this process was among them before.
        """
        self.client.connect()
        place = f"{socket.gethostname()} {os.getpid()}"
        try:
            self.put(f"plugjax/places/{self.index}", place.encode())
        except RuntimeError as error:
            # gloo would refuse to exchange values with it.
            raise RuntimeError(
                f"distributed.initialize: process {self.index} was started again, and the others go on without it. Start all processes "
                "again."
            ) from error
        return pjrt.distributed_cpu_client(self.client, self.index, self.count, num_devices)

    def stop(self, patience: float | None = None) -> None:
        """Part from the other processes.

        The first one, which has the service, waits for the others to come here or to end; not if one of them was lost.

        Args:
            patience: for how many seconds; as long as a shutdown may take, if left out.
        """
        if self._preemption is not None:
            # It uses the client.
            self._preemption.shutdown()
            self._preemption = None
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
        for other in range(self.count):
            if other != self.index:
                self._get_of(other, f"plugjax/left/{other}", deadline)

    def _get_of(self, other: int, key: str, deadline: float) -> bytes | None:
        """Read what another process writes; ``None`` if it ends first, or the time."""
        while (left := deadline - time.monotonic()) > 0:
            try:
                return self.get(key, min(1.0, left))
            except RuntimeError:
                if other in self.ended():
                    break
        return None

    def live(self, processes: Iterable[int], *, anew: bool) -> dict[int, int]:
        """Which of some processes live, as numbers that change when a process is started again.

        All that live must ask for the same ones, and are answered together, with the same numbers.

        Args:
            processes: indices; this process is one of them.
            anew: whether to ask; otherwise the last answer is given, if there is one.
        """
        key = tuple(sorted(processes))
        if anew or key not in self._last_live:
            self._last_live[key] = self.client.get_live_nodes(list(key))
        return self._last_live[key]

    def reached_sync_point(self, step: int) -> bool:
        """Whether this is the step to end at, which all processes agree on after one of them got SIGTERM.

        From the first call on SIGTERM does not end this process.
        """
        if self._preemption is None:
            self._preemption = preemption_manager(self.client)
        reached: bool = self._preemption.reached_sync_point(step)
        return reached

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

    def check_program(
        self, name: str, module: bytes, constants: bytes, processes: Iterable[int]
    ) -> None:
        """Compare a program with those of the other processes that run it.

        Programs over the same processes are compiled in the same order in each; each compares its own with those of all others.

        Args:
            name: of the function.
            module: the program.
            constants: values that it holds.
            processes: whose devices run it.

        Raises:
            RuntimeError: it is another one, or a process ends before it has compiled its own.
        """
        members = tuple(sorted(processes))
        number = self._programs[members]
        self._programs[members] += 1
        own = _digests(name, module, constants)
        key = f"plugjax/programs/{hashlib.sha256(repr(members).encode()).hexdigest()}/{number}"
        self.put(f"{key}/{self.index}", b"\n".join(own))
        patience = self._timeouts["initialization"]
        for other in members:
            if other != self.index:
                found = self._get_of(other, f"{key}/{other}", time.monotonic() + patience)
                if found is None:
                    ended = other in self.ended()
                    what = "ended before" if ended else f"did not within {patience} seconds"
                    raise RuntimeError(
                        f"process {self.index} has compiled '{name}', and process {other} {what}. All processes whose devices run a "
                        "program must compile it."
                    )
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
        self.lost = not self._recoverable
        elsewhere = [
            f"{i} on {place[0]}"
            for i, place in self._places().items()
            if place[0] != socket.gethostname()
        ]
        ended = self.ended()
        until = time.monotonic() + _SECONDS_TO_END
        while not (ended or elsewhere) and time.monotonic() < until:
            time.sleep(0.02)
            ended = self.ended()
        if ended or self.count == 2:
            words = (
                ", ".join(ended.values()) or elsewhere[0]
                if (ended or elsewhere)
                else "the other one"
            )
            what = f"process {words} has ended"
        else:
            what = f"another process has ended: one of {', '.join(elsewhere) or 'those of this machine'}"
        cure = (
            "Leave the block of live_devices, and go on with the devices of the next one"
            if self._recoverable
            else "Start all processes again"
        )
        return RuntimeError(
            f"{what}, while process {self.index} exchanged values with it. {cure}. ({error})"
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
