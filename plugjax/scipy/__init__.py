"""SciPy's functions on arrays that can be differentiated, batched and compiled: the names of ``jax.scipy``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_SUBMODULES = (
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial",
    "special", "stats",
)  # fmt: skip


if TYPE_CHECKING:
    from plugjax.scipy import (
        cluster as cluster,
        fft as fft,
        integrate as integrate,
        interpolate as interpolate,
        linalg as linalg,
        ndimage as ndimage,
        optimize as optimize,
        signal as signal,
        sparse as sparse,
        spatial as spatial,
        special as special,
        stats as stats,
    )

if not TYPE_CHECKING:
    # Type checkers report names that do not exist.

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return importlib.import_module(f"plugjax.scipy.{name}")
        raise AttributeError(f"module 'plugjax.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_SUBMODULES)
