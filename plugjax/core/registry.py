"""The registry: plugins in, tables of rules out.

``Registry().load(plugin, ...)`` builds one by hand, as tests do. :func:`active` is the one in force: it discovers plugins
by entry points on first use. A table is a dict from primitive to rule, for one kind and platform; interpreters keep it and
look cells up directly. An empty cell asks the hook ``plugjax_missing_rule`` once; its answer is kept.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pluggy

from plugjax.core import caches, hookspecs
from plugjax.core.config import config
from plugjax.core.errors import MissingRuleError, PluginWarning, RuleConflictError
from plugjax.core.primitive import Primitive
from plugjax.core.rules import LazyRules, Rule, RuleKind, RuleSet

GROUP = "plugjax"
_generations = itertools.count(1)


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin as found: its name, what it provides, and the error if it could not be loaded."""

    name: str
    provides: tuple[str, ...] = ()
    error: BaseException | None = None
    blocked: bool = False
    source: Any = None

    @property
    def distribution(self) -> str:
        """Name of the distribution that brings it; read when asked for, since it means parsing a file."""
        return str(self.source.name) if self.source is not None else ""

    @property
    def version(self) -> str:
        """Version of that distribution."""
        return str(self.source.version) if self.source is not None else ""


class RuleTable(dict[Primitive, Callable[..., Any]]):
    """The column of one kind on one platform; a missing cell is derived or raises :class:`MissingRuleError`."""

    __slots__ = ("kind", "platform", "registry")

    def __init__(self, registry: Registry, kind: RuleKind[Any], platform: str | None) -> None:
        super().__init__()
        self.registry = registry
        self.kind = kind
        self.platform = platform

    def __missing__(self, primitive: Primitive) -> Callable[..., Any]:
        rule = self.registry._derive(self.kind, primitive, self.platform)
        if rule is None:
            raise MissingRuleError(
                self.registry._missing_message(self.kind, primitive, self.platform)
            )
        self[primitive] = rule
        return rule

    def find(self, primitive: Primitive) -> Callable[..., Any] | None:
        """The rule, derived if need be, or ``None``."""
        rule = self.get(primitive)
        if rule is None:
            rule = self.registry._derive(self.kind, primitive, self.platform)
            if rule is not None:
                self[primitive] = rule
        return rule


class _CompileByBackend:
    """The innermost implementation of ``plugjax_compile``: ask the device's backend."""

    @hookspecs.hookimpl(trylast=True)
    def plugjax_compile(self, jaxpr: Any, device: Any, options: Any) -> Any:
        return device.backend.compile(jaxpr, device, options)


class Registry:
    """Plugins and the tables compiled from their rules."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._manager = pluggy.PluginManager("plugjax")
        self._manager.add_hookspecs(hookspecs)
        self._manager.register(_CompileByBackend(), "compile-by-backend")
        self._rules: dict[tuple[RuleKind[Any], Primitive, str | None], Rule] = {}
        self._owner: dict[tuple[RuleKind[Any], Primitive, str | None], str] = {}
        self._lazy: list[tuple[str, LazyRules]] = []
        self._tables: dict[tuple[RuleKind[Any], str | None], RuleTable] = {}
        self._backends: dict[str, Any] | None = None
        self.plugins: list[LoadedPlugin] = []
        self.generation = next(_generations)

    @property
    def hook(self) -> Any:
        """The relay of pluggy: ``registry.hook.plugjax_compile(...)``."""
        return self._manager.hook

    def load(self, *plugins: Any) -> Registry:
        """Register plugin objects, all or none.

        Raises:
            RuleConflictError: two rules for one cell.
        """
        for plugin in plugins:
            info = getattr(plugin, "plugjax_plugin", None)
            name = info.name if info else getattr(plugin, "__name__", type(plugin).__name__)
            provides = tuple(info.provides) if info else ()
            self._register(plugin, name)
            self.plugins.append(LoadedPlugin(name, provides))
        return self

    def discover(self) -> Registry:
        """Load the plugins that installed distributions declare, as the environment allows."""
        wanted = _names("PLUGJAX_PLUGINS")
        blocked = _names("PLUGJAX_NO_PLUGINS") or set()
        tracing = os.environ.get("PLUGJAX_TRACE_PLUGINS", "") not in ("", "0")
        for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=_load_order):
            if entry.name in blocked or (
                wanted is not None and entry.name not in wanted | {"core"}
            ):
                self.plugins.append(LoadedPlugin(entry.name, blocked=True, source=entry.dist))
                continue
            if any(p.name == entry.name and not p.error for p in self.plugins):
                continue
            provides: tuple[str, ...] = ()
            error: BaseException | None = None
            try:
                plugin = entry.load()
                info = getattr(plugin, "plugjax_plugin", None)
                if info is not None:
                    if info.api_version != hookspecs.API_VERSION:
                        raise ImportError(
                            f"written for plugin API {info.api_version}, this is {hookspecs.API_VERSION}"
                        )
                    provides = tuple(info.provides)
                self._register(plugin, entry.name)
            except Exception as caught:  # a broken plugin must not take start-up down
                error = caught
                warnings.warn(
                    f"plugjax plugin '{entry.name}' of distribution {_described(entry.dist)} was skipped: "
                    f"{type(caught).__name__}: {caught}. Set PLUGJAX_NO_PLUGINS={entry.name} to silence this.",
                    PluginWarning,
                    stacklevel=2,
                )
            self.plugins.append(LoadedPlugin(entry.name, provides, error, source=entry.dist))
            if tracing:
                warnings.warn(
                    f"plugin {entry.name}: {error or 'loaded'}", PluginWarning, stacklevel=2
                )
        self.hook.plugjax_configure(config=config)
        return self

    def _register(self, plugin: Any, name: str) -> None:
        with self._lock:
            before = dict(self._rules), dict(self._owner), list(self._lazy)
            self._manager.register(plugin, name)
            provide = getattr(plugin, "plugjax_rules", None)
            try:
                for source in provide() if provide is not None else ():
                    if isinstance(source, LazyRules):
                        self._lazy.append((name, source))
                    else:
                        self._add(source, name)
            except BaseException:
                self._rules, self._owner, self._lazy = before
                self._manager.unregister(plugin)
                raise
            self._backends = None
            self._changed()

    def _changed(self) -> None:
        for table in self._tables.values():
            table.clear()
            self._fill(table)
        self.generation = next(_generations)
        if self is _active:
            _rules_changed(self)

    def _add(self, rule_set: RuleSet, plugin: str) -> None:
        for rule in rule_set.rules:
            cell = rule.cell
            existing = self._rules.get(cell)
            if existing is not None and existing is not rule:
                if existing.replace and not rule.replace:
                    continue
                if not rule.replace or existing.replace:
                    raise RuleConflictError(
                        f"two rules for one cell: {rule.kind.name} of primitive '{rule.primitive.name}'"
                        f"{f' on {rule.platform}' if rule.platform else ''} is provided by plugin "
                        f"'{self._owner[cell]}' ({existing.where}) and by plugin '{plugin}' ({rule.where}). "
                        "Block one of the plugins, or declare one rule with replace=True."
                    )
            self._rules[cell] = rule
            self._owner[cell] = plugin

    def _load_lazy(self, kind: RuleKind[Any]) -> None:
        for item in [item for item in self._lazy if kind.name in item[1].kinds]:
            name, lazy = item
            if all(map(_importable, lazy.needs)):
                for rule_set in lazy.load():
                    self._add(rule_set, name)
            self._lazy.remove(item)

    def table(self, kind: RuleKind[Any], platform: str | None = None) -> RuleTable:
        """The table of ``kind``; on a platform, its own rules shadow the defaults."""
        table = self._tables.get((kind, platform))
        if table is None:
            with self._lock:
                self._load_lazy(kind)
                table = RuleTable(self, kind, platform)
                self._fill(table)
                self._tables[kind, platform] = table
        return table

    def _fill(self, table: RuleTable) -> None:
        own: dict[Primitive, Callable[..., Any]] = {}
        for (kind, primitive, platform), rule in self._rules.items():
            if kind is table.kind:
                if platform is None:
                    table[primitive] = rule.function
                elif platform == table.platform:
                    own[primitive] = rule.function
        table.update(own)

    def _derive(
        self, kind: RuleKind[Any], primitive: Primitive, platform: str | None
    ) -> Callable[..., Any] | None:
        rule: Callable[..., Any] | None = self.hook.plugjax_missing_rule(
            registry=self, kind=kind, primitive=primitive, platform=platform
        )
        return rule

    def _missing_message(
        self, kind: RuleKind[Any], primitive: Primitive, platform: str | None
    ) -> str:
        on = f" on platform '{platform}'" if platform else ""
        asleep = [p.name for p in self.plugins if p.blocked or p.error]
        hint = f" Plugins that are blocked or broken: {', '.join(asleep)}." if asleep else ""
        return (
            f"no {kind.name} rule for primitive '{primitive.name}'{on}.{hint}\n"
            f"Supply one from any plugin: @rules.define({kind.name}, {primitive.name}_p) over a function with "
            f"signature\n{kind.signature}"
        )

    def rule(
        self, kind: RuleKind[Any], primitive: Primitive, platform: str | None = None
    ) -> Rule | None:
        """The declared rule in a cell, with its provenance, or ``None``."""
        self.table(kind, platform)
        return self._rules.get((kind, primitive, platform)) or self._rules.get(
            (kind, primitive, None)
        )

    def rules(self) -> list[Rule]:
        """All declared rules, those of lazy sources that have been loaded included."""
        return list(self._rules.values())

    def where(self, kind: RuleKind[Any], primitive: Primitive, platform: str | None = None) -> str:
        """Plugin, module and line of the rule in a cell.

        Raises:
            MissingRuleError: the cell is empty.
        """
        rule = self.rule(kind, primitive, platform)
        if rule is None:
            raise MissingRuleError(self._missing_message(kind, primitive, platform))
        return f"{self._owner[rule.cell]}: {rule.where}"

    def backends(self) -> dict[str, Any]:
        """Backend descriptions by name."""
        found = self._backends
        if found is None:
            with self._lock:
                found = {}
                for specs in reversed(self.hook.plugjax_backends()):
                    for spec in specs:
                        if all(map(_importable, spec.needs)):
                            found.setdefault(spec.name, spec)
                self._backends = found
        return found


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def _names(variable: str) -> set[str] | None:
    text = os.environ.get(variable)
    if text is None:
        return None
    return {name.strip() for name in text.split(",") if name.strip()}


def _load_order(entry: importlib.metadata.EntryPoint) -> tuple[bool, str]:
    """Our own distribution first, then by name, so that loading does not depend on the file system."""
    return (not entry.value.startswith("plugjax."), entry.name)


def _described(distribution: importlib.metadata.Distribution | None) -> str:
    return f"{distribution.name} {distribution.version}" if distribution is not None else "?"


_active: Registry | None = None
_active_lock = threading.RLock()


def active() -> Registry:
    """The registry in force; discovered from entry points on first use."""
    found = _active
    return found if found is not None else _discover()


def _discover() -> Registry:
    global _active
    with _active_lock:
        if _active is None:
            _active = Registry().discover()
            _rules_changed(_active)
        return _active


def _rules_changed(registry: Registry | None) -> None:
    """Other rules are in force: no cache key is as before, so what was cached is of no use."""
    config.use_generation(registry.generation if registry is not None else 0)
    caches.clear_all()


@contextmanager
def use(registry: Registry) -> Iterator[Registry]:
    """Make ``registry`` the active one within a ``with`` block (for tests and embedders)."""
    global _active
    previous = _active
    _active = registry
    _rules_changed(registry)
    try:
        yield registry
    finally:
        _active = previous
        _rules_changed(previous)


def table(kind: RuleKind[Any], platform: str | None = None) -> RuleTable:
    """The active registry's table of ``kind``."""
    return active().table(kind, platform)


__all__ = ["LoadedPlugin", "Registry", "RuleTable", "active", "table", "use"]
