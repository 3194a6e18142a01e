"""``plugjax.scipy`` as a plugin: SciPy's universal functions on arrays are ours."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType

from plugjax.extend.rules import PluginInfo, hookimpl

plugjax_plugin = PluginInfo("scipy_api", provides=("scipy.special on arrays",))


@hookimpl
def plugjax_numpy_namespaces() -> dict[str, Callable[[], ModuleType]]:
    """The module is loaded when one of its functions is called on an array."""
    return {"scipy.special": functools.partial(importlib.import_module, "plugjax.scipy.special")}
