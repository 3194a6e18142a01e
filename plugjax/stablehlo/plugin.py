"""Lowering to StableHLO as a plugin."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("stablehlo", provides=("lowering of the lax primitives to StableHLO",))

_FAMILIES = (
    "arithmetic", "barrier", "broadcasting", "callback", "comparison", "complex", "composite", "control_flow", "conversion", "convolution", "dce_sink", "dot", "exponential", "fft",
    "gather_scatter", "joining", "linalg", "ordering", "random", "random_generators", "reduction", "selection", "shape", "sharded", "slicing", "sorting",
    "special", "tokens", "trigonometric", "windowed",
)  # fmt: skip


def _load_rules() -> list[RuleSet]:
    return [importlib.import_module(f"plugjax.stablehlo.{name}").rules for name in _FAMILIES]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Lowering rules, loaded when the first program is lowered; none without jaxlib."""
    return [LazyRules(kinds=("lowering", "ordering"), load=_load_rules, needs=("jaxlib",))]


@hookimpl
def plugjax_extensions() -> dict[str, Callable[[], ModuleType]]:
    """Names of ``plugjax.extend.lowering`` and ``mlir``."""
    return {
        "lowering": lambda: importlib.import_module("plugjax.stablehlo.jax_names"),
        "mlir": lambda: importlib.import_module("plugjax.stablehlo.typed_results"),
    }
