"""Recurrences as a plugin."""

from __future__ import annotations

from plugjax.extend import LazyRules, PluginInfo, RuleSet, hookimpl
from plugjax_recurrence import batching, derivatives, kernel, replaying
from plugjax_recurrence.recurrence import rules

plugjax_plugin = PluginInfo("recurrence", provides=("primitive recurrence",))


def _load_lowering() -> list[RuleSet]:
    from plugjax_recurrence import lowering  # noqa: PLC0415  # MLIR is imported when a compiler needs it

    return [lowering.rules]


@hookimpl
def plugjax_rules() -> list[RuleSet | LazyRules]:
    """The primitive's rules."""
    return [
        rules,
        derivatives.rules,
        batching.rules,
        kernel.rules,
        replaying.rules,
        LazyRules(kinds=("lowering",), load=_load_lowering, needs=("jaxlib",)),
    ]
