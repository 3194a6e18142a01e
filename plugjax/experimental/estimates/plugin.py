"""Estimates as a plugin: rules of the kind ``roofline``."""

from __future__ import annotations

from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("roofline", provides=("estimates of work and memory traffic",))


def _load() -> list[RuleSet]:
    from plugjax.experimental.estimates import rules  # noqa: PLC0415  # on first use

    return [rules.rules]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Estimates of the primitives of lax."""
    return [LazyRules(kinds=("roofline",), load=_load)]
