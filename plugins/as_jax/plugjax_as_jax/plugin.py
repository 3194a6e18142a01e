"""The alias as a plugin: the command line finds it here."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Generator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

from plugjax.extend.errors import JaxRuntimeError
from plugjax.extend.rules import PluginInfo, hookimpl
from plugjax_as_jax.modules import Alias

plugjax_plugin = PluginInfo("as_jax", provides=("`import jax` is plugjax, for libraries",))


@hookimpl
def plugjax_extensions() -> dict[str, Callable[[], ModuleType]]:
    """What ``plugjax run --as-jax`` and ``plugjax doctor --as-jax`` call."""
    return {"as_jax": lambda: importlib.import_module("plugjax_as_jax.commands")}


@hookimpl(wrapper=True)
def plugjax_compile(
    jaxpr: Any, device: Any, options: Mapping[str, Any]
) -> Generator[None, Any, Any]:
    """Call ``jax._src.compiler.backend_compile_and_load`` first, which a program may have replaced to refuse compilations."""
    compiler: Any = sys.modules.get("jax._src.compiler")
    if isinstance(compiler, Alias) and device is not None:
        try:
            compiler.backend_compile_and_load(SimpleNamespace(platform=device.platform))
        except RuntimeError as error:
            # Plugins refuse programs by a JaxRuntimeError; the caller looks for the class of its own error.
            both = type(type(error).__name__, (JaxRuntimeError, type(error)), {})
            raise both(*error.args) from error
    return (yield)
