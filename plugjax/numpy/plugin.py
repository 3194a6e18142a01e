"""``plugjax.numpy`` as a plugin: the functions behind operators and methods of arrays."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from plugjax.extend.core import Option
from plugjax.extend.rules import PluginInfo, hookimpl
from plugjax.numpy.array_methods import METHODS

plugjax_plugin = PluginInfo("numpy_api", provides=("operators and methods of arrays",))


@hookimpl
def plugjax_array_methods() -> dict[str, Callable[..., Any]]:
    """Operators, methods and NumPy protocols."""
    return METHODS


@hookimpl
def plugjax_options() -> list[Option]:
    """How operands of different ranks meet."""
    return [
        Option(
            "numpy_rank_promotion", "allow", choices=("allow", "warn", "raise"), in_key=True,
            help="implicit promotion between ranks", observes={"warn": "operators"},
        ),
    ]  # fmt: skip


@hookimpl
def plugjax_numpy_namespaces() -> dict[str, Callable[[], ModuleType]]:
    """NumPy's functions on arrays are ours."""
    return {
        name: functools.partial(importlib.import_module, f"plugjax.{name}")
        for name in ("numpy", "numpy.linalg", "numpy.fft")
    }
