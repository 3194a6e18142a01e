"""Small libraries for examples: the names of ``jax.example_libraries``, ``stax`` (layers) and ``optimizers``."""

from __future__ import annotations

import importlib
from typing import Any

_SUBMODULES = ("optimizers", "stax")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"plugjax.example_libraries.{name}")
    raise AttributeError(f"module 'plugjax.example_libraries' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_SUBMODULES)
