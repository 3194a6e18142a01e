"""Callbacks on buffers as a plugin: the primitive ``buffer_callback`` and its rules."""

from __future__ import annotations

from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo(
    "buffer_callback", provides=("callbacks that write to the memory of a device",)
)


def _load() -> list[RuleSet]:
    from plugjax.experimental.buffer_callback import call  # noqa: PLC0415  # on first use

    return [call.rules]


def _load_lowerings() -> list[RuleSet]:
    from plugjax.experimental.buffer_callback import lowering  # noqa: PLC0415  # needs jaxlib

    return [lowering.rules]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Types, values on the host, batches and refused derivatives; the call in compiled programs, with jaxlib."""
    kinds = ("abstract_eval", "batching", "effects", "impl", "jvp", "transpose")
    return [
        LazyRules(kinds=kinds, load=_load),
        LazyRules(kinds=("lowering",), load=_load_lowerings, needs=("jaxlib",)),
    ]
