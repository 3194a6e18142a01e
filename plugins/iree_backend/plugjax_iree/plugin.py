"""The IREE backend as a plugin. Light: neither IREE nor jaxlib is imported before a device or a rule is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

from plugjax.extend.backend import Backend, BackendSpec
from plugjax.extend.execution import Exporter
from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

__all__ = [
    "plugjax_backends",
    "plugjax_exporters",
    "plugjax_extensions",
    "plugjax_plugin",
    "plugjax_rules",
]

plugjax_plugin = PluginInfo("iree", provides=("backend iree", "lowerings for platform iree"))

_NEEDS = ("iree.compiler", "iree.runtime", "jaxlib")


def _load_rules() -> list[RuleSet]:
    rules: list[RuleSet] = importlib.import_module("plugjax_iree.lowering").RULE_SETS
    return rules


def _load_backend() -> Backend:
    backend: Backend = importlib.import_module("plugjax_iree.backend").IreeBackend()
    return backend


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """What IREE needs said differently."""
    return [LazyRules(kinds=("lowering",), load=_load_rules, needs=("jaxlib",))]


@hookimpl
def plugjax_backends() -> list[BackendSpec]:
    """The backend ``iree``."""
    return [BackendSpec("iree", _load_backend, priority=5, needs=_NEEDS, verify="first")]


def _load_exporter() -> Exporter:
    exporter: Exporter = importlib.import_module("plugjax_iree.exporter").IreeExporter()
    return exporter


@hookimpl
def plugjax_extensions() -> dict[str, Callable[[], ModuleType]]:
    """Devices to compile for that are not there."""
    return {"topologies": lambda: importlib.import_module("plugjax_iree.topologies")}


@hookimpl
def plugjax_exporters() -> dict[str, Callable[[], Exporter]]:
    """Modules for IREE's runtimes."""
    return {"iree": _load_exporter}
