"""``jax.experimental.colocated_python``: Python on the hosts of remote devices. All devices of plugjax are this host's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plugjax

DeviceList = tuple[Any, ...]


def colocated_cpu_devices(devices: Sequence[Any]) -> Sequence[Any]:
    """The processors beside each of some devices: those of this process."""
    return plugjax.devices("cpu")[:1] * len(devices)


def colocated_python(fun: Any) -> Any:
    """Refused where it is called.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "colocated_python runs functions on the hosts of remote devices, and plugjax has none. Call the function."
    )
