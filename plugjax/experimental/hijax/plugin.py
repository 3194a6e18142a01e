"""Operations that a class describes, as a plugin: the rules of their equations."""

from __future__ import annotations

from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("hijax", provides=("equations of experimental.hijax",))


def _load() -> list[RuleSet]:
    from plugjax.experimental.hijax import control_flow, rules  # noqa: PLC0415  # on first use

    return [rules.rules, control_flow.rules]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Types, values, derivatives and batches of such operations."""
    kinds = (
        "abstract_eval", "batching", "dce", "expand", "jvp", "linearize", "lowered", "transpose",
    )  # fmt: skip
    return [LazyRules(kinds=kinds, load=_load)]
