"""Export as a plugin: the rules for calls of exported functions."""

from __future__ import annotations

from plugjax.export import calling
from plugjax.extend.rules import PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("export", provides=("primitive call_exported",))


@hookimpl
def plugjax_rules() -> list[RuleSet]:
    """Rules of ``call_exported``."""
    return [calling.rules]
