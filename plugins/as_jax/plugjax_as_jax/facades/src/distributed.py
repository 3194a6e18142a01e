"""``jax._src.distributed``: this process among those of a program."""

from __future__ import annotations

from typing import Any

import plugjax
from plugjax import distributed


class _State:
    """What JAX keeps of the connection between processes."""

    @property
    def process_id(self) -> int:
        """The index of this process."""
        return plugjax.process_index()

    @property
    def num_processes(self) -> int:
        """How many processes there are."""
        return plugjax.process_count()

    @property
    def client(self) -> Any:
        """The connection to the coordinator; ``None`` if there is none."""
        return getattr(distributed, "client", None) if distributed.is_initialized() else None


global_state = _State()
