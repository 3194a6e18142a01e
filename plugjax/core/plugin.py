"""The core as a plugin: the rules of the call primitive ``jit``."""

from __future__ import annotations

from plugjax.core.hookspecs import PluginInfo, hookimpl
from plugjax.core.rules import RuleSet
from plugjax.core.transforms import call

plugjax_plugin = PluginInfo("core", provides=("primitive jit",))


@hookimpl
def plugjax_rules() -> list[RuleSet]:
    """Rules of ``jit``."""
    return [call.rules]
