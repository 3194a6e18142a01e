"""lax as a plugin: the first one, with no privilege over any other."""

from __future__ import annotations

from plugjax.core.hookspecs import PluginInfo, hookimpl
from plugjax.core.rules import RuleSet
from plugjax.lax import (
    arithmetic,
    comparison,
    complex,
    conversion,
    exponential,
    selection,
    special,
    trigonometric,
)

plugjax_plugin = PluginInfo("lax", provides=("primitives of jax.lax and their mathematics",))


@hookimpl
def plugjax_rules() -> list[RuleSet]:
    """Abstract evaluation, derivatives and batching of the lax primitives."""
    return [
        module.rules
        for module in (
            arithmetic,
            comparison,
            complex,
            conversion,
            exponential,
            selection,
            special,
            trigonometric,
        )
    ]
