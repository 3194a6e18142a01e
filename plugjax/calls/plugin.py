"""Calls as a plugin: the rules of their primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.calls import (
    call,
    checkpoint,
    custom_jvp,
    custom_vjp,
    custom_vmap,
    defined_primitives,
    linear_call,
    remat_opt,
)
from plugjax.core.hookspecs import PluginInfo, hookimpl
from plugjax.core.primitive import Primitive
from plugjax.core.registry import Registry
from plugjax.core.rules import RuleKind, RuleSet

plugjax_plugin = PluginInfo(
    "calls",
    provides=(
        "primitives of calls: jit, checkpoint, custom_jvp, custom_vjp, custom_vmap, linear_call",
        "rules of primitives that programs define",
    ),
)


@hookimpl
def plugjax_rules() -> list[RuleSet]:
    """Rules of ``jit`` and of calls with rules of the user's own."""
    modules = (call, checkpoint, custom_jvp, custom_vjp, custom_vmap, linear_call, remat_opt)
    return [*(module.rules for module in modules), defined_primitives.optional]


@hookimpl(tryfirst=True)
def plugjax_missing_rule(kind: RuleKind[Any], primitive: Primitive) -> Callable[..., Any] | None:
    """Rules that a program defines by assignment."""
    return defined_primitives.defined(kind, primitive)


@hookimpl
def plugjax_configure(registry: Registry) -> None:
    """From here on, rules of plugins are known."""
    defined_primitives.set_discovered(registry)
