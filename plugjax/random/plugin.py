"""Random keys as a plugin: their primitives."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType

from plugjax.extend.core import Option, boolean
from plugjax.extend.rules import PluginInfo, RuleSet, hookimpl
from plugjax.random import key_reuse, primitives
from plugjax.random.gamma import rules as gamma_rules
from plugjax.random.key_reuse import plugjax_instrument as plugjax_instrument

plugjax_plugin = PluginInfo("random", provides=("random keys and their primitives", "generators"))


@hookimpl
def plugjax_rules() -> list[RuleSet]:
    """Abstract evaluation, batching and storage of random keys."""
    return [primitives.rules, gamma_rules, key_reuse.rules]


@hookimpl
def plugjax_options() -> list[Option]:
    """Which numbers a key gives, and whether keys may be used twice."""
    return [
        Option("debug_key_reuse", False, boolean, in_key=True, help="raise if a key is used twice"),
        Option(
            "threefry_partitionable", True, boolean, in_key=True,
            help="a part of an array of random numbers is computed as that part alone",
        ),
        Option(
            "default_prng_impl", "threefry2x32", in_key=True, help="implementation of new keys",
            choices=("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32"),
        ),
        Option("enable_custom_prng", False, boolean, in_key=True, help="PRNGKey makes typed keys"),
        Option(
            "legacy_prng_key", "allow", choices=("allow", "warn", "error"), in_key=True,
            help="what becomes of keys that are arrays of words",
        ),
        Option(
            "high_dynamic_range_gumbel", False, boolean, in_key=True,
            help="Gumbel numbers have twice the bits in their upper tail",
        ),
        Option("random_seed_offset", 0, int, in_key=True, help="added to the seeds of keys"),
    ]  # fmt: skip


@hookimpl
def plugjax_extensions() -> dict[str, Callable[[], ModuleType]]:
    """Generators for authors."""
    return {"random": functools.partial(importlib.import_module, "plugjax.random.extension")}
