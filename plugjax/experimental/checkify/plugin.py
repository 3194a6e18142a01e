"""Checks as a plugin: the transformation's rules, and those of its primitive."""

from __future__ import annotations

from plugjax.experimental.checkify import checks
from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("checkify", provides=("transformation checkify", "primitive check"))


def _load() -> list[RuleSet]:
    from plugjax.experimental.checkify import calls, control_flow, indexing, numerics  # noqa: PLC0415  # on first use

    return [module.rules for module in (calls, control_flow, indexing, numerics)]


@hookimpl
def plugjax_rules() -> list[RuleSet | LazyRules]:
    """Rules of ``check``, and how to check the primitives of ``plugjax.lax`` and of calls."""
    return [checks.rules, LazyRules(kinds=("error_check",), load=_load)]
