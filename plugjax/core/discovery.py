"""Discovery: the plugins that installed distributions declare by entry points of the group ``plugjax``.

The framework's own plugins come first, then its backends', then the others by name. ``PLUGJAX_PLUGINS`` and
``PLUGJAX_NO_PLUGINS`` block plugins: they are listed, and never imported. A plugin that cannot be loaded is named in a
warning together with its distribution, and so is one whose hook raises; the registry goes on without it.
"""

from __future__ import annotations

import importlib.metadata
import os
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any

from plugjax.core.errors import PluginWarning, RuleConflictError
from plugjax.core.hookspecs import API_VERSION

GROUP = "plugjax"
# What every program needs: `PLUGJAX_PLUGINS` cannot leave it out.
ALWAYS = frozenset({"calls"})
# Packages whose plugins load first.
BUILT_IN = ("plugjax", "plugjax_iree", "plugjax_numpy", "plugjax_xla")


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin as found.

    Attributes:
        name: name of its entry point.
        provides: what it says that it brings.
        error: why it was skipped.
        blocked: whether the environment keeps it from being loaded.
        built_in: whether it is the framework's own, so that errors in its hooks are raised.
        source: its distribution's metadata.
        faults: what its hooks raised, by name of the hook.
    """

    name: str
    provides: tuple[str, ...] = ()
    error: BaseException | None = None
    blocked: bool = False
    built_in: bool = False
    source: Any = None
    faults: dict[str, BaseException] = field(default_factory=dict)

    @property
    def distribution(self) -> str:
        """Name of the distribution that brings it; read when asked for, since it means parsing a file."""
        return str(self.source.name) if self.source is not None else ""

    @property
    def version(self) -> str:
        """Version of that distribution."""
        return str(self.source.version) if self.source is not None else ""


def declared(by_hand: Collection[str]) -> Iterator[tuple[LoadedPlugin, Callable[[], Any] | None]]:
    """Plugins in the order in which they load, each with the function that imports it, or ``None`` if it is blocked.

    Args:
        by_hand: names of plugins that are loaded already; they are left out.
    """
    wanted, unwanted = _names("PLUGJAX_PLUGINS"), _names("PLUGJAX_NO_PLUGINS")
    entries = sorted(importlib.metadata.entry_points(group=GROUP), key=_load_order)
    unknown = wanted - {entry.name for entry in entries}
    if unknown:
        warnings.warn(
            f"PLUGJAX_PLUGINS names {', '.join(sorted(unknown))}, which no installed distribution provides.",
            PluginWarning,
            stacklevel=4,
        )
    found: dict[str, EntryPoint] = {}
    for entry in entries:
        first = found.get(entry.name)
        # An editable installation may be seen twice.
        if entry.name in by_hand or (first is not None and first.value == entry.value):
            continue
        blocked = entry.name in unwanted or bool(wanted and entry.name not in wanted | ALWAYS)
        own = _package(entry) in BUILT_IN
        plugin = LoadedPlugin(entry.name, blocked=blocked, built_in=own, source=entry.dist)
        yield plugin, None if blocked else _loader(entry, found.setdefault(entry.name, entry))


def _loader(entry: EntryPoint, first: EntryPoint) -> Callable[[], Any]:
    """The function that imports a plugin; it raises if another one has the name, or if the API is another one."""

    def load() -> Any:
        if first is not entry:
            owner = _described(first.dist)
            raise RuleConflictError(f"distribution {owner} has a plugin of the same name")
        plugin = entry.load()
        info = getattr(plugin, "plugjax_plugin", None)
        if info is not None and info.api_version != API_VERSION:
            raise ImportError(f"written for plugin API {info.api_version}, this is {API_VERSION}")
        return plugin

    return load


def report_skipped(plugin: LoadedPlugin) -> None:
    """Warn that a plugin is not in force, and why."""
    _warn(plugin, "was skipped", plugin.error)


def charger(plugin: LoadedPlugin) -> Callable[[str, BaseException], None]:
    """A function that charges a plugin with what its hook raised: with a warning, once for each hook."""

    def charge(hook: str, error: BaseException) -> None:
        if hook not in plugin.faults:
            plugin.faults[hook] = error
            _warn(
                plugin, f"failed in {hook}", error, "plugjax goes on without what it gives there. "
            )

    return charge


def _warn(plugin: LoadedPlugin, event: str, error: BaseException | None, then: str = "") -> None:
    warnings.warn(
        f"plugjax plugin '{plugin.name}' of distribution {_described(plugin.source)} {event}: "
        f"{type(error).__name__}: {error}. {then}Set PLUGJAX_NO_PLUGINS={plugin.name} to silence this.",
        PluginWarning,
        stacklevel=4,
    )


def report_found(plugin: LoadedPlugin) -> None:
    """Name a plugin and what became of it, if ``PLUGJAX_TRACE_PLUGINS`` asks for that."""
    if os.environ.get("PLUGJAX_TRACE_PLUGINS", "") not in ("", "0"):
        message = f"plugin {plugin.name}: {plugin.error or 'loaded'}"
        warnings.warn(message, PluginWarning, stacklevel=3)


def _names(variable: str) -> set[str]:
    """Names in a variable; without any, it is as if it were not set."""
    return {name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()}


def _load_order(entry: EntryPoint) -> tuple[bool, bool, str, str]:
    """The framework first, its backends next, then the others; by name, not as the file system has them."""
    package = _package(entry)
    return (package not in BUILT_IN, package != "plugjax", entry.name, entry.value)


def _package(entry: EntryPoint) -> str:
    return entry.value.partition(":")[0].partition(".")[0]


def _described(distribution: importlib.metadata.Distribution | None) -> str:
    return f"{distribution.name} {distribution.version}" if distribution is not None else "?"
