"""Functions that say how they are split, as a plugin: the primitive ``custom_partitioning``."""

from __future__ import annotations

from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("custom_partitioning", provides=("custom_partitioning",))


def _load() -> list[RuleSet]:
    from plugjax.experimental.custom_partitioning import primitive  # noqa: PLC0415  # on first use

    return [primitive.rules]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Its type, and the function that it stands for."""
    return [LazyRules(kinds=("abstract_eval", "expand"), load=_load)]
