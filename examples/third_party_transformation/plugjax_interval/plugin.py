"""Interval arithmetic as a plugin."""

from __future__ import annotations

from plugjax.extend import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("interval", provides=("transformation interval",))


def _load() -> list[RuleSet]:
    from plugjax_interval import control_flow, elementwise, logic, periodic, structural  # noqa: PLC0415  # on first use

    modules = (control_flow, elementwise, logic, periodic, structural)
    return [module.rules for module in modules]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Interval rules of the primitives of ``plugjax.lax``."""
    return [LazyRules(kinds=("interval",), load=_load)]
