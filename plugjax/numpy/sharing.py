"""Memory of arrays for other libraries, by DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Shared:
    """The memory of an array on the host as one that may be written, for consumers that know no other."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, host: np.ndarray[Any, Any]) -> None:
        self._owner = host
        address, _ = host.__array_interface__["data"]
        self.__array_interface__ = {**host.__array_interface__, "data": (address, False)}


def dlpack(host: np.ndarray[Any, Any], **kwargs: Any) -> Any:
    """A DLPack capsule of an array's memory on the host."""
    kwargs.pop("stream", None)
    if not host.flags.writeable and kwargs.get("max_version") is None:
        # The protocol before 1.0 has no word for memory that is only read, so NumPy refuses to share it. JAX shares it.
        host = np.asarray(_Shared(host))
    return host.__dlpack__(**kwargs)
