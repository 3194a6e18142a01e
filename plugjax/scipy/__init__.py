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
    )
    from plugjax.scipy import (
        fft as fft,
    )
    from plugjax.scipy import (
        integrate as integrate,
    )
    from plugjax.scipy import (
        interpolate as interpolate,
    )
    from plugjax.scipy import (
        linalg as linalg,
    )
    from plugjax.scipy import (
        ndimage as ndimage,
    )
    from plugjax.scipy import (
        optimize as optimize,
    )
    from plugjax.scipy import (
        signal as signal,
    )
    from plugjax.scipy import (
        sparse as sparse,
    )
    from plugjax.scipy import (
        spatial as spatial,
    )
    from plugjax.scipy import (
        special as special,
    )
    from plugjax.scipy import (
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
