"""The XLA backend as a plugin. Loading it imports nothing of jaxlib."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from types import ModuleType

from plugjax.extend.backend import Backend, BackendSpec
from plugjax.extend.core import Option, register_internal
from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl
from plugjax_xla import client_factories

register_internal(os.path.dirname(__file__))

plugjax_plugin = PluginInfo("xla", provides=("backend xla", "lowerings for platform xla"))


def _load_rules() -> list[RuleSet]:
    rules: list[RuleSet] = importlib.import_module("plugjax_xla.lowering").RULE_SETS
    return rules


def _load_backend() -> Backend:
    backend: Backend = importlib.import_module("plugjax_xla.own_clients").XlaBackend()
    return backend


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Lowering rules for platform ``xla``."""
    return [LazyRules(kinds=("lowering",), load=_load_rules, needs=("jaxlib",))]


@hookimpl
def plugjax_backends() -> list[BackendSpec]:
    """The backend ``xla``, the default if jaxlib is installed, and those that ``register_backend_factory`` added."""
    own = BackendSpec(
        "xla", _load_backend, priority=client_factories.XLA_PRIORITY, needs=("jaxlib",)
    )
    return [own, *client_factories.specs.values()]


@hookimpl
def plugjax_options() -> list[Option]:
    """How strictly XLA keeps to the arithmetic that a program writes."""
    return [
        Option(
            "numerics", "default", choices=("strict", "default", "fast"), in_key=True,
            help="strict: no excess precision; fast: fast-math on the CPU",
        )
    ]  # fmt: skip


@hookimpl
def plugjax_extensions() -> dict[str, Callable[[], ModuleType]]:
    """Names of ``plugjax.extend.sharding``, ``backend``, ``xla`` and ``ifrt_programs``, XLA's foreign functions, its profiler and topologies."""
    return {
        "xla": lambda: importlib.import_module("plugjax_xla.hlo_transformations"),
        "ifrt_programs": lambda: importlib.import_module("plugjax_xla.runtime_programs"),
        "ffi": lambda: importlib.import_module("plugjax_xla.foreign_functions"),
        "backend": lambda: importlib.import_module("plugjax_xla.runtime_names"),
        "compile options": lambda: importlib.import_module("plugjax_xla.compile_options"),
        "sharding": lambda: importlib.import_module("plugjax_xla.sharding"),
        "topologies": lambda: importlib.import_module("plugjax_xla.topologies"),
        "profiler": lambda: importlib.import_module("plugjax_xla.profiling"),
    }
