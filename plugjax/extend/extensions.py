"""Modules of names that a plugin gives by the hook ``plugjax_extensions``, looked up when they are asked for."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

from plugjax.core import registry


@lru_cache(maxsize=16)
def _found(key: str, generation: int) -> ModuleType | None:
    for loaders in registry.active().hook.plugjax_extensions():
        if key in loaders:
            module: ModuleType = loaders[key]()
            return module
    return None


def attribute(key: str, content: str, name: str) -> Any:
    """The name ``plugjax.extend.<key>.<name>``.

    Args:
        key: of the extension.
        content: what the module holds, for the error.
        name: of the attribute.

    Raises:
        AttributeError: no plugin in force gives this module, or it lacks the name.
    """
    asked = f"plugjax.extend.{key}"
    if name.startswith("_"):
        raise AttributeError(f"module {asked!r} has no attribute {name!r}")
    active = registry.active()
    module = _found(key, active.generation)
    if module is None:
        raise AttributeError(
            f"no plugin in force brings {content}, and so {asked}.{name}.{active.asleep()}"
        )
    if name not in module.__all__:
        raise AttributeError(f"module {asked!r} has no attribute {name!r}")
    return getattr(module, name)


def names(key: str) -> list[str]:
    """The names of the module, none if no plugin in force gives it."""
    module = _found(key, registry.active().generation)
    return sorted(module.__all__) if module is not None else []
