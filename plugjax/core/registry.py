"""The registry: plugins in, tables of rules out.

``Registry().load(plugin, ...)`` builds one by hand, as tests do. :func:`active` is the one in force: it takes the installed
plugins (:mod:`plugjax.core.discovery`) on first use. A table is a dict from primitive to rule, for one kind and platform;
interpreters keep it and look cells up directly. An empty cell asks the hook ``plugjax_missing_rule`` once; its answer is kept.

An installed plugin from outside that cannot be imported, or has a second rule for a cell, is skipped whole; one whose hook
raises goes without that hook. A warning names it, and everything else goes on. A plugin that is loaded by hand raises instead.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import threading
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pluggy

from plugjax.core import caches, hookspecs
from plugjax.core.config import config
from plugjax.core.discovery import LoadedPlugin, charger, declared, report_found, report_skipped
from plugjax.core.errors import MissingRuleError, PluginWarning, RuleConflictError
from plugjax.core.operators import methods
from plugjax.core.plugin_faults import guarded
from plugjax.core.primitive import Primitive
from plugjax.core.rules import LazyRules, Rule, RuleKind, RuleSet
from plugjax.core.source_info import register_internal

# Hooks are called through pluggy: its frames are not the user's.
register_internal(os.path.dirname(pluggy.__file__))
_generations = itertools.count(1)


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
                self.registry.missing_message(self.kind, primitive, self.platform)
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
        # What `_rules` is made of, in the order of loading: a plugin can be taken out again.
        self._rule_sets: list[tuple[str, RuleSet]] = []
        self._strangers: list[str] = []
        # Plugins in the order of loading: name, the plugin, and its hooks or what stands for them.
        self._loaded: list[tuple[str, Any, Any]] = []
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
            # It stands for an installed plugin of its name that is not in force.
            kept = [p for p in self.plugins if p.name != name or not (p.blocked or p.error)]
            self.plugins = [*kept, LoadedPlugin(name, provides)]
        return self

    def discover(self) -> Registry:
        """Load the plugins that installed distributions declare, as the environment allows."""
        for plugin, load in declared({plugin.name for plugin in self.plugins}):
            self.plugins.append(plugin)
            if load is not None:
                self._discover_one(len(self.plugins) - 1, load)
                report_found(self.plugins[-1])
        self.declare_options()
        self.hook.plugjax_configure(config=config, registry=self)
        return self

    def declare_options(self) -> None:
        """Take the plugins' options into the configuration.

        Raises:
            ValueError: an environment variable says what an option does not accept.
        """
        for options in reversed(self.hook.plugjax_options()):
            config.declare(options)

    def extended(self, *plugins: Any, without: Collection[str] = ()) -> Registry:
        """A new registry: the plugins of this one, those not in force included, and more. This one stays as it is.

        Args:
            *plugins: modules, or any objects with hook implementations.
            without: names of plugins of this one to leave out.

        Raises:
            RuleConflictError: two rules for one cell.

        Example:
            >>> import numpy as np
            >>> from plugjax.extend.core import Primitive
            >>> from plugjax.extend.rules import RuleSet, hookimpl, impl
            >>> from plugjax.extend import registry
            >>> rules, twice_p = RuleSet("twice"), Primitive("twice")
            >>> _ = rules.define(impl, twice_p)(lambda x: x + x)
            >>> class Twice:
            ...     plugjax_rules = staticmethod(hookimpl(lambda: [rules]))
            >>> with registry.use(registry.active().extended(Twice)) as extended:
            ...     twice_p in extended.table(impl)
            True
        """
        built, without = Registry(), frozenset(without)
        for name, plugin, hooks in self._loaded:
            if name not in without:
                built._register(plugin, name, hooks)
        built.plugins = [each for each in self.plugins if each.name not in without]
        built._strangers = [name for name in self._strangers if name not in without]
        return built.load(*plugins)

    def _discover_one(self, index: int, load: Callable[[], Any]) -> None:
        """Load a plugin; a broken one must not take start-up down."""
        try:
            plugin = load()
            info = getattr(plugin, "plugjax_plugin", None)
            if info is not None:
                self.plugins[index] = replace(self.plugins[index], provides=tuple(info.provides))
            found = self.plugins[index]
            if found.built_in:
                self._register(plugin, found.name)
            else:
                self._register(plugin, found.name, guarded(plugin, charger(found)))
                self._strangers.append(found.name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too
            self._skip(index, error)

    def _skip(self, index: int, error: BaseException) -> None:
        self.plugins[index] = replace(self.plugins[index], error=error)
        report_skipped(self.plugins[index])

    def _register(self, plugin: Any, name: str, hooks: Any = None) -> None:
        """Take in the rules of a plugin, and its hooks or what stands for them."""
        hooks = plugin if hooks is None else hooks
        with self._lock:
            if self._manager.has_plugin(name) or any(plugin is each for _, each, _ in self._loaded):
                raise ValueError(f"plugin {name!r} is loaded already")
            before = dict(self._rules), dict(self._owner), list(self._lazy), list(self._rule_sets)
            try:
                self._manager.register(hooks, name)
                provide = getattr(plugin, "plugjax_rules", None)
                for source in provide() if provide is not None else ():
                    if isinstance(source, LazyRules):
                        self._lazy.append((name, source))
                    else:
                        self._add(source, name)
            except BaseException:
                self._rules, self._owner, self._lazy, self._rule_sets = before
                self._manager.unregister(hooks)
                raise
            self._loaded.append((name, plugin, hooks))
            self._backends = None
            self._changed()

    def _drop(self, name: str, error: BaseException) -> None:
        """Take a plugin from outside out again, whole."""
        self._manager.unregister(name=name)
        self._strangers.remove(name)
        self._loaded = [item for item in self._loaded if item[0] != name]
        self._lazy = [item for item in self._lazy if item[0] != name]
        kept = [item for item in self._rule_sets if item[0] != name]
        self._rules, self._owner, self._rule_sets = {}, {}, []
        for provider, rule_set in kept:
            self._add(rule_set, provider)
        self._backends = None
        self._changed()
        index = next(i for i, plugin in enumerate(self.plugins) if plugin.name == name)
        self._skip(index, error)

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
                    raise RuleConflictError(self._conflict_message(rule, existing, plugin))
            self._rules[cell] = rule
            self._owner[cell] = plugin
        self._rule_sets.append((plugin, rule_set))

    def _conflict_message(self, rule: Rule, existing: Rule, plugin: str) -> str:
        return (
            f"two rules for one cell: {rule.kind.name} of primitive '{rule.primitive.name}'"
            f"{f' on {rule.platform}' if rule.platform else ''} is provided by plugin "
            f"'{self._owner[existing.cell]}' ({existing.where}) and by plugin '{plugin}' ({rule.where}). "
            "Block one of the plugins, or declare one rule with replace=True."
        )

    def _load_lazy(self, kind: RuleKind[Any]) -> None:
        for item in [item for item in self._lazy if kind.name in item[1].kinds]:
            name, lazy = item
            if item not in self._lazy:  # dropped meanwhile
                continue
            try:
                if all(map(_importable, lazy.needs)):
                    for rule_set in lazy.load():
                        self._make_way(rule_set, name)
                        self._add(rule_set, name)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if name not in self._strangers:
                    raise
                self._drop(name, error)
                continue
            self._lazy.remove(item)

    def _make_way(self, rule_set: RuleSet, plugin: str) -> None:
        """Drop the plugins from outside that filled cells of a plugin that was loaded before them.

        Its rules were not known then, as they are lazy.
        """
        later = self._strangers
        if plugin in later:
            later = later[later.index(plugin) + 1 :]
        for rule in rule_set.rules:
            existing = self._rules.get(rule.cell)
            if existing is None or existing is rule or existing.replace != rule.replace:
                continue
            owner = self._owner[rule.cell]
            if owner in later:
                self._drop(owner, RuleConflictError(self._conflict_message(existing, rule, owner)))

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

    def missing_message(
        self, kind: RuleKind[Any], primitive: Primitive, platform: str | None
    ) -> str:
        """What to say of an empty cell: what is missing, which plugins are not in force, how to supply it."""
        on = f" on platform '{platform}'" if platform else ""
        return (
            f"no {kind.name} rule for primitive '{primitive.name}'{on}.{self.asleep()}\n"
            f"Supply one from any plugin: @rules.define({kind.name}, {primitive.name}_p) over a function with "
            f"signature\n{kind.signature}"
        )

    def asleep(self) -> str:
        """A sentence about the plugins that are installed but not in force, to end a message with."""
        blocked = [p.name for p in self.plugins if p.blocked]
        broken = [p.name for p in self.plugins if p.error]
        said = f" Blocked by PLUGJAX_PLUGINS or PLUGJAX_NO_PLUGINS: {', '.join(blocked)}."
        return (said if blocked else "") + (f" Broken: {', '.join(broken)}." if broken else "")

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
            raise MissingRuleError(self.missing_message(kind, primitive, platform))
        return f"{self._owner[rule.cell]}: {rule.where}"

    def backends(self) -> dict[str, Any]:
        """Backend descriptions by name."""
        with self._lock:
            found = self._backends
            if found is None:
                found = {}
                for specs in reversed(self.hook.plugjax_backends()):
                    for spec in specs:
                        if all(map(_importable, spec.needs)):
                            if spec.name in found:
                                warnings.warn(
                                    f"backend '{spec.name}' of {spec.load.__module__} is left out: "
                                    f"{found[spec.name].load.__module__} provides one of this name.",
                                    PluginWarning,
                                    stacklevel=2,
                                )
                            found.setdefault(spec.name, spec)
                self._backends = found
        return found


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


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
    if registry is not None:
        registry.declare_options()
    config.use_generation(registry.generation if registry is not None else 0)
    caches.clear_all()
    # A registry of rules alone, which a test may use, leaves arrays their operators.
    if registry is not None and registry.hook.plugjax_array_methods.get_hookimpls():
        methods.clear()
        methods.fill()


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


config.load_plugins = lambda: active().asleep()

__all__ = ["LoadedPlugin", "Registry", "RuleTable", "active", "table", "use"]
