"""Several processes that run one program (``jax.distributed``), on XLA's own runtime."""

from __future__ import annotations

import atexit
import os
import socket
import sys
from collections.abc import Sequence
from typing import Any

from plugjax.clusters import Cluster, detect_cluster
from plugjax.extend.backend import get_backend
from plugjax.extend.core import config

# Seconds that the first process waits at its end for the others.
_PATIENCE_AT_EXIT = 10.0


class _Global:
    """What this process is part of."""

    backend: Any = None


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Join the processes of a program: from now on ``devices()`` are those of all of them.

    Call it in each process before the first computation. What is left out is taken from the environment: that of ``plugjax
    launch``, Slurm, Open MPI or Kubernetes. When a process dies, the others are ended, unless the option
    ``jax_enable_recoverability`` is set; then they go on with ``multihost_utils.live_devices``. All need process 0.

    Args:
        coordinator_address: host and port of process 0, ``"10.0.0.1:1234"``.
        num_processes: how many processes there are.
        process_id: index of this one.
        local_device_ids: accepted as in JAX: it is for hosts whose accelerators several processes share.
        cluster_detection_method: where to look for what is left out: ``"plugjax"``, ``"slurm"``, ``"ompi"``, ``"k8s"``, or
            ``"deactivate"``; in all of them, if left out.
        initialization_timeout: seconds to wait for the other processes.
        heartbeat_timeout_seconds: seconds without a sign of life after which a process counts as dead. With
            ``jax_enable_recoverability`` also for how long one waits for another in an exchange of values.
        shutdown_timeout_seconds: seconds to wait for the others at the end.
        coordinator_bind_address: where process 0 listens; all interfaces, if left out.
        slice_index: accepted as in JAX: it is for TPUs.
        partition_index: likewise.

    Raises:
        ValueError: something is left out that the environment does not say, or an index is out of range.
        RuntimeError: called a second time, after the first computation, or on a backend that has no such runtime.

    Example:
        >>> import plugjax
        >>> plugjax.distributed.is_initialized()
        False
    """
    del local_device_ids, slice_index, partition_index
    if _Global.backend is not None:
        raise RuntimeError("distributed.initialize should only be called once.")
    found = Cluster(coordinator_address, num_processes, process_id)
    if None in (coordinator_address, num_processes, process_id):
        found = found.filled(detect_cluster(cluster_detection_method))
    for name, value in (
        ("coordinator_address", found.address),
        ("num_processes", found.count),
        ("process_id", found.index),
    ):
        if value is None:
            raise ValueError(
                f"distributed.initialize: {name} should be defined. Give it, or start the processes by `plugjax launch`, Slurm, "
                "Open MPI or Kubernetes."
            )
    address, count, index = str(found.address), int(found.count or 0), int(found.index or 0)
    if not 0 <= index < count:
        raise ValueError(
            f"distributed.initialize: process_id {index} is no index of {count} processes."
        )
    if ":" not in address:
        raise ValueError(
            f"distributed.initialize: coordinator_address {address!r} must have a port, as in 'host:1234'."
        )
    backend: Any = get_backend()
    if not hasattr(backend, "join_processes"):
        raise RuntimeError(
            f"distributed.initialize: backend {backend.name!r} has one process. Choose 'xla': PLUGJAX_BACKEND=xla."
        )
    backend.join_processes(
        address,
        count,
        index,
        bind_address=coordinator_bind_address,
        timeouts={
            "initialization": initialization_timeout,
            "heartbeat": heartbeat_timeout_seconds,
            "shutdown": shutdown_timeout_seconds,
        },
        recoverable=config.read("enable_recoverability"),
    )
    _Global.backend = backend
    atexit.register(_at_exit)


def is_initialized() -> bool:
    """Whether this process has joined others.

    Example:
        >>> import plugjax
        >>> plugjax.distributed.is_initialized()
        False
    """
    return _Global.backend is not None


def shutdown() -> None:
    """Part from the other processes, when all of them do; the end of the interpreter does it too.

    Example:
        >>> import plugjax
        >>> plugjax.distributed.shutdown()
    """
    _leave(None)


def _leave(patience: float | None) -> None:
    backend, _Global.backend = _Global.backend, None
    if backend is not None:
        backend.leave_processes(patience)


def _at_exit() -> None:
    # After an error the others may wait for this process: they hear of its end at once.
    _leave(0.0 if hasattr(sys, "last_value") else _PATIENCE_AT_EXIT)


def group() -> Any:
    """What this process and the others share: a table of keys and values, and barriers; ``None`` for one process."""
    return None if _Global.backend is None else _Global.backend.group


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


def launched() -> bool:
    """Whether ``plugjax launch`` started this process."""
    return "PLUGJAX_COORDINATOR_ADDRESS" in os.environ


__all__ = ["initialize", "is_initialized", "shutdown"]
