"""References as a plugin: primitives that make, read and write them, and their rules."""

from __future__ import annotations

from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo(
    "state", provides=("references to mutable arrays: primitives of jax.ref",)
)


def _load() -> list[RuleSet]:
    from plugjax.state import batching, derivatives, notation, primitives  # noqa: PLC0415  # on first use

    return [module.rules for module in (primitives, derivatives, batching, notation)]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Types, values, derivatives, batches and pure forms of what references do."""
    kinds = (
        "abstract_eval",
        "batching",
        "discharge",
        "effects",
        "expand",
        "jvp",
        "notation",
        "transpose",
    )
    return [LazyRules(kinds=kinds, load=_load)]
