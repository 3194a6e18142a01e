"""Modules that are called ``jax...`` and show the names of others."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from plugjax_as_jax import missing
from plugjax_as_jax.table import NAMESPACES, TABLE


class Alias(ModuleType):
    """A module under a name of JAX. It finds each name once, in the module that stands for it.

    Modules that the table does not list are not shown: they are parts of plugjax that JAX has no name for.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__file__ = None

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        if full in TABLE:
            return importlib.import_module(full)
        said: AttributeError | None = None
        for module in standing_for(self.__name__):
            try:
                found = getattr(module, name)
            except AttributeError as error:
                said = said or error
                continue
            if not _is_internal(found):
                if not name.startswith("__"):
                    setattr(self, name, found)
                return found
        if name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        raise missing.name(self.__name__, name, said) from None

    def __dir__(self) -> list[str]:
        modules = standing_for(self.__name__)
        shown = {n for module in modules for n in dir(module) if not n.startswith("_")}
        start = f"{self.__name__}."
        below = {n.removeprefix(start) for n in TABLE if n.startswith(start)}
        return sorted({n for n in below if "." not in n} | shown | set(vars(self)))


def _is_internal(found: Any) -> bool:
    if not isinstance(found, ModuleType) or found.__name__ in NAMESPACES:
        return False
    return found.__name__.startswith("plugjax")


def standing_for(name: str) -> list[ModuleType]:
    """The modules whose names the module ``name`` of JAX shows, in the order in which they are asked."""
    return [importlib.import_module(each) for each in TABLE[name].split()]
