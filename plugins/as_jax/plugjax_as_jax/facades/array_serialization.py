"""``jax.experimental.array_serialization``: checkpoints of arrays that several processes write."""

from __future__ import annotations

from typing import Any

_REFUSAL = (
    "{name} writes arrays whose parts are in several processes, which plugjax does not do. orbax's own handlers, and "
    "numpy.save of numpy.asarray(x), write arrays of one process."
)


class GlobalAsyncCheckpointManagerBase:
    """The base class of managers that write in the background."""


class GlobalAsyncCheckpointManager(GlobalAsyncCheckpointManagerBase):
    """Refused where it is made.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError(_REFUSAL.format(name="GlobalAsyncCheckpointManager"))
