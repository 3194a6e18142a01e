"""Functions that say how they are split, as a plugin: the primitive ``custom_partitioning``."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from operator import itemgetter

from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl
from plugjax.extend.transforms import inlined

plugjax_plugin = PluginInfo("custom_partitioning", provides=("custom_partitioning",))

_called = itemgetter("call")
_PRIMITIVE = "plugjax.experimental.custom_partitioning.primitive"


def _load() -> list[RuleSet]:
    return [importlib.import_module(_PRIMITIVE).rules]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Its type, the function that it stands for, and how results are spread where no compiler decides it."""
    return [LazyRules(kinds=("abstract_eval", "batching", "expand", "spread"), load=_load)]


@hookimpl
def plugjax_jaxpr_passes(
    platform: str,
) -> Sequence[Callable[[ClosedJaxpr], ClosedJaxpr]]:
    """The functions in place of their calls, for backends whose compiler splits no programs."""
    if platform == "xla" or _PRIMITIVE not in sys.modules:
        return []
    calls = {sys.modules[_PRIMITIVE].custom_partitioning_p: _called}
    return [functools.partial(inlined, calls=calls)]
