"""Export as a plugin: the rules for calls of exported functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType

from plugjax.export import calling, module_calls
from plugjax.export.symbolic import values
from plugjax.extend.core import ClosedJaxpr, Option
from plugjax.extend.rules import PluginInfo, RuleSet, hookimpl

plugjax_plugin = PluginInfo(
    "export",
    provides=(
        "primitive call_exported",
        "primitive dim_as_value",
        "jax_export_calling_convention_version",
    ),
)


def _program_bytes() -> ModuleType:
    from plugjax.export import program_bytes  # noqa: PLC0415  # on first use

    return program_bytes


def _tree_bytes() -> ModuleType:
    from plugjax.export import trees  # noqa: PLC0415  # on first use

    return trees


@hookimpl
def plugjax_extensions() -> dict[str, Callable[[], ModuleType]]:
    """Programs and trees as bytes, for those who write compiled functions and checkpoints."""
    return {"program_bytes": _program_bytes, "tree_bytes": _tree_bytes}


@hookimpl
def plugjax_options() -> list[Option]:
    """The calling convention of artifacts."""
    return [
        Option(
            "export_calling_convention_version", 10, int, help="the version of what is exported",
        ),
    ]  # fmt: skip


@hookimpl
def plugjax_jaxpr_passes(
    platform: str, hardware: str | None
) -> Sequence[Callable[[ClosedJaxpr], ClosedJaxpr]]:
    """Calls of programs in place of exported functions, so that they are not refused where the host runs them for a device."""
    if platform == "xla" or hardware is None:
        return []
    return [functools.partial(calling.checked_for, hardware)]


@hookimpl
def plugjax_rules() -> list[RuleSet]:
    """Rules of ``call_exported``, of modules as operations, and of sizes as values."""
    return [calling.rules, module_calls.rules, values.rules]
