"""``plugjax.numpy`` as a plugin: the functions behind operators and methods of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.core.hookspecs import PluginInfo, hookimpl
from plugjax.numpy.array_methods import METHODS

plugjax_plugin = PluginInfo("numpy_api", provides=("operators and methods of arrays",))


@hookimpl
def plugjax_array_methods() -> dict[str, Callable[..., Any]]:
    """Operators, methods and NumPy protocols."""
    return METHODS
