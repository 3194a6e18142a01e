"""The interval rule of the Lambert W function as a plugin."""

from __future__ import annotations

from plugjax.extend import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("lambertw_interval", provides=("interval rule of lambertw",))


def _load() -> list[RuleSet]:
    from plugjax_lambertw_interval import rule  # noqa: PLC0415  # on first use

    return [rule.rules]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """One rule."""
    return [LazyRules(kinds=("interval",), load=_load)]
