"""Generators of random numbers: names of the plugin that brings random keys, looked up when they are asked for."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

from plugjax.core import registry


@lru_cache(maxsize=1)
def _module(generation: int) -> ModuleType | None:
    for loaders in registry.active().hook.plugjax_extensions():
        if "random" in loaders:
            found: ModuleType = loaders["random"]()
            return found
    return None


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    active = registry.active()
    module = _module(active.generation)
    if module is None:
        raise AttributeError(
            f"no plugin in force brings generators of random numbers, and so {__name__}.{name}.{active.asleep()}"
        )
    if name not in module.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(module, name)


def __dir__() -> list[str]:
    module = _module(registry.active().generation)
    return sorted(module.__all__) if module is not None else []
