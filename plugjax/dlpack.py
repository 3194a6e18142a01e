"""Exchange of arrays with other libraries: the names of ``jax.dlpack``."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.transforms import publish
from plugjax.numpy import from_dlpack

# Dtypes with a code in the protocol and in NumPy.
_KINDS = "biufc"


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be exchanged.

    Example:
        >>> is_supported_dtype("float32")
        True
    """
    found = np.dtype(dtype)
    return found.kind in _KINDS


__all__ = ["from_dlpack", "is_supported_dtype"]

publish(globals(), __all__)
