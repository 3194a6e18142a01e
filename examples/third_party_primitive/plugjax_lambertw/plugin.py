"""The Lambert W function as a plugin."""

from __future__ import annotations

from plugjax.extend import LazyRules, PluginInfo, RuleSet, hookimpl
from plugjax_lambertw.lambertw import rules

plugjax_plugin = PluginInfo("lambertw", provides=("primitive lambertw",))


def _load_kernel() -> list[RuleSet]:
    from plugjax_lambertw import kernel  # noqa: PLC0415  # SciPy is imported when the kernel runs

    return [kernel.rules]


def _load_lowering() -> list[RuleSet]:
    from plugjax_lambertw import lowering  # noqa: PLC0415  # with the kernel

    return [lowering.rules]


@hookimpl
def plugjax_rules() -> list[RuleSet | LazyRules]:
    """The primitive's rules."""
    return [
        rules,
        LazyRules(kinds=("impl",), load=_load_kernel),
        LazyRules(kinds=("lowering",), load=_load_lowering),
    ]
