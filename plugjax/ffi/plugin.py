"""Foreign calls as a plugin: the primitive ``ffi_call`` and its rules."""

from __future__ import annotations

from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo("ffi", provides=("calls of foreign functions: primitive ffi_call",))


def _load() -> list[RuleSet]:
    from plugjax.ffi import call, host  # noqa: PLC0415  # on first use

    return [call.rules, host.rules]


def _load_lowerings() -> list[RuleSet]:
    from plugjax.ffi import lowering  # noqa: PLC0415  # needs jaxlib

    return [lowering.rules]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Types, batches, refused derivatives and functions on the host; lowerings, with jaxlib."""
    kinds = ("abstract_eval", "batching", "effects", "impl", "jvp", "physical", "transpose")
    return [
        LazyRules(kinds=kinds, load=_load),
        LazyRules(kinds=("lowering",), load=_load_lowerings, needs=("jaxlib",)),
    ]
