"""What the user sees of a package: its public names alone, and functions whose errors end at the user's line."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from plugjax.transforms.tracebacks import api_boundary, own_boundaries


def publish(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Make boundaries of the public functions of a package, which its modules call without, and show public names alone.

    Args:
        namespace: the package's ``globals()``.
        names: those that are public.
    """
    for name in names:
        found = namespace.get(name)
        if isinstance(found, FunctionType):
            namespace[name] = public(found, namespace["__name__"], name)
    show_only(namespace, names)


def public(found: Any, package: str, name: str) -> Any:
    """A function as a package shows it: a boundary, which pickles by the name there."""
    if not isinstance(found, FunctionType) or found.__code__ in own_boundaries:
        return found
    if not found.__module__.startswith("plugjax."):
        return found
    shown = _shown.get(found)
    if shown is None:
        shown = _shown[found] = api_boundary(found)
        shown.__module__, shown.__qualname__ = package, name
    return shown


# A function that several packages show is one object.
_shown: dict[FunctionType, FunctionType] = {}


def late(namespace: dict[str, Any], modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names are loaded on first use.

    Args:
        namespace: the package's ``globals()``, which keep what was loaded.
        modules: for each name the module that has it; one of the package's own begins with a dot.
    """
    package: str = namespace["__name__"]

    def load(name: str) -> Any:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(module, package), name)
        namespace[name] = found = public(found, package, name)
        return found

    return load


def show_only(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Let ``dir`` show public names alone; a package that has a ``__dir__`` keeps it."""
    shown = sorted({*names})
    namespace.setdefault("__dir__", lambda: list(shown))
