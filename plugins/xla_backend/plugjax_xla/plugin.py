"""The XLA backend as a plugin. Loading it imports nothing of jaxlib."""

from __future__ import annotations

import importlib

from plugjax.core import BackendSpec, LazyRules, PluginInfo, RuleSet, hookimpl
from plugjax.core.backend import Backend

plugjax_plugin = PluginInfo("xla", provides=("backend xla", "lowerings for platform xla"))


def _load_rules() -> list[RuleSet]:
    rules: list[RuleSet] = importlib.import_module("plugjax_xla.lowering").RULE_SETS
    return rules


def _load_backend() -> Backend:
    backend: Backend = importlib.import_module("plugjax_xla.backend").XlaBackend()
    return backend


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """What XLA needs said differently."""
    return [LazyRules(kinds=("lowering",), load=_load_rules, needs=("jaxlib",))]


@hookimpl
def plugjax_backends() -> list[BackendSpec]:
    """The backend ``xla``, the default one where jaxlib is installed."""
    return [BackendSpec("xla", _load_backend, priority=10, needs=("jaxlib",))]
