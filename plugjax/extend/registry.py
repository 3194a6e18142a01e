"""The rules in force: tables by rule kind, and registries of one's own."""

from plugjax.core.discovery import ALWAYS, BUILT_IN, GROUP, LoadedPlugin
from plugjax.core.registry import Registry, RuleTable, active, table, use

__all__ = [
    "ALWAYS",
    "BUILT_IN",
    "GROUP",
    "LoadedPlugin",
    "Registry",
    "RuleTable",
    "active",
    "table",
    "use",
]
