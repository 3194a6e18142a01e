"""Calls as a plugin: the rules of their primitives."""

from __future__ import annotations

from plugjax.calls import call, checkpoint, custom_jvp, custom_vjp, custom_vmap, linear_call
from plugjax.core.hookspecs import PluginInfo, hookimpl
from plugjax.core.rules import RuleSet

plugjax_plugin = PluginInfo(
    "calls",
    provides=(
        "primitives of calls: jit, checkpoint, custom_jvp, custom_vjp, custom_vmap, linear_call",
    ),
)


@hookimpl
def plugjax_rules() -> list[RuleSet]:
    """Rules of ``jit`` and of calls with rules of the user's own."""
    modules = (call, checkpoint, custom_jvp, custom_vjp, custom_vmap, linear_call)
    return [module.rules for module in modules]
