"""Random keys as a plugin: their primitives."""

from __future__ import annotations

from plugjax.core.hookspecs import PluginInfo, hookimpl
from plugjax.core.rules import RuleSet
from plugjax.random import key_reuse, primitives
from plugjax.random.gamma import rules as gamma_rules
from plugjax.random.key_reuse import plugjax_watch as plugjax_watch

plugjax_plugin = PluginInfo("random", provides=("random keys and their primitives",))


@hookimpl
def plugjax_rules() -> list[RuleSet]:
    """Abstract evaluation, batching and storage of random keys."""
    return [primitives.rules, gamma_rules, key_reuse.rules]
