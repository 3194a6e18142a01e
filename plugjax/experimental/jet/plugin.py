"""Taylor series as a plugin: how to push them through the primitives of ``plugjax.lax`` and of calls."""

from __future__ import annotations

from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("jet", provides=("transformation jet",))


def _load() -> list[RuleSet]:
    from plugjax.experimental.jet import control_flow, elementwise, linear  # noqa: PLC0415  # on first use

    return [module.rules for module in (control_flow, elementwise, linear)]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Rules of the kind ``taylor``."""
    return [LazyRules(kinds=("taylor",), load=_load)]
