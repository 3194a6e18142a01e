"""Processes that die while the others go on, and processes that are told to end.

All processes must agree on what lives, or one waits for another that computes something else. XLA's coordination service answers
all that live at once, with the same numbers; a process that was started again has another number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from plugjax import distributed
from plugjax.environment import process_index
from plugjax.extend.core import Device, config


class ProcessFailureError(Exception):
    """Processes died within a block of :func:`live_devices`.

    Attributes:
        failed_devices: the set of their devices.
    """

    def __init__(self, failed_devices: set[Device]) -> None:
        self.failed_devices = failed_devices
        words = ", ".join(sorted(map(str, failed_devices)))
        super().__init__(
            f"live_devices: Devices failed: {words}. Their processes died; the next block of live_devices has the other devices."
        )


@contextmanager
def live_devices(devices: Sequence[Device]) -> Iterator[list[Device]]:
    """A block for the devices whose processes live, the same ones in all of these.

    All processes that live and have some of the devices must enter and leave the block: leaving it, each waits for the others, so
    that all know of a process that died within it. Set ``jax_enable_recoverability`` before ``distributed.initialize``; otherwise
    a death ends all processes, as ``plugjax launch`` does in any case. A death is noticed after ``heartbeat_timeout_seconds``.

    Args:
        devices: those that are wanted, some of this process among them.

    Yields:
        Those of them that live, by their ids.

    Raises:
        ValueError: ``devices`` is empty, or has none of this process.
        ProcessFailureError: a process died within the block, or was started again. What else was raised there is its cause.

    Differs from JAX:
        Without ``distributed.initialize`` all devices live; JAX raises. What lived at the end of a block is recorded for each
        set of processes, not for the latest. With ``jax_enable_recoverability`` an exchange of values fails when it has waited
        for ``heartbeat_timeout_seconds``. In JAX it waits on where the process that died is no neighbour.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental import multihost_utils
        >>> with multihost_utils.live_devices(plugjax.devices("numpy")) as live:
        ...     print(live)
        [Device(numpy:0)]
    """
    processes = {device.process_index for device in devices}
    if not processes:
        raise ValueError("live_devices: No devices provided. Give devices(), or some of them.")
    if process_index() not in processes:
        raise ValueError(
            f"live_devices: Provided devices do not have any local devices: process {process_index()} has none of {devices}. "
            "Call it in the processes that have them."
        )
    group = distributed.group()
    alive = dict.fromkeys(processes, 0) if group is None else group.live(processes, anew=False)

    def failed() -> set[Device]:
        now = alive if group is None else group.live(processes, anew=True)
        lost = {i for i, number in alive.items() if now.get(i) != number}
        return {device for device in devices if device.process_index in lost}

    try:
        yield sorted((d for d in devices if d.process_index in alive), key=lambda d: d.id)
    except Exception as error:
        if lost := failed():
            raise ProcessFailureError(lost) from error
        raise
    if lost := failed():
        raise ProcessFailureError(lost)


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether all processes should write a checkpoint at this step, because one of them is told to end.

    A scheduler tells a process by SIGTERM that it will be ended. The processes then agree on the first step that none of them has
    begun. Call it in each process at each step, from the same step on.

    Args:
        step_id: number of the step.

    Returns:
        True in all processes at the step that they agreed on; False at others, and always if this process has not joined others.

    Raises:
        RuntimeError: ``jax_enable_preemption_service`` is not set.

    Differs from JAX:
        SIGTERM is a notice from the first call on. Before, and in programs that never call this, it ends the process; under JAX it
        does not from ``distributed.initialize`` on.

    Example:
        >>> from plugjax.experimental import multihost_utils
        >>> multihost_utils.reached_preemption_sync_point(3)
        False
    """
    group = distributed.group()
    if group is None:
        return False
    if not config.read("enable_preemption_service"):
        raise RuntimeError(
            "reached_preemption_sync_point: Preemption sync manager has not been initialized. Make sure the "
            "'jax_enable_preemption_service' config is enabled."
        )
    reached: bool = group.reached_sync_point(step_id)
    return reached
