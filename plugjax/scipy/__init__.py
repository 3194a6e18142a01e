"""SciPy's functions on arrays that can be differentiated, batched and compiled: the names of ``jax.scipy``."""

from __future__ import annotations

import importlib
from typing import Any

_SUBMODULES = (
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial",
    "special", "stats",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"plugjax.scipy.{name}")
    raise AttributeError(f"module 'plugjax.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})
