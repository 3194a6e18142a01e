"""Annotations for XLA's compiler as a plugin."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from operator import itemgetter

from plugjax.extend.core import ClosedJaxpr, Option
from plugjax.extend.rules import LazyRules, PluginInfo, RuleSet, hookimpl
from plugjax.extend.transforms import inlined

plugjax_plugin = PluginInfo(
    "annotations", provides=("metadata, scheduling groups, places and layouts for XLA",)
)
_called = itemgetter("jaxpr")


def _sets(*names: str) -> list[RuleSet]:
    package = "plugjax.experimental.annotations"
    return [importlib.import_module(f"{package}.{name}").rules for name in names]


@hookimpl
def plugjax_rules() -> list[LazyRules]:
    """Rules of the identities and calls that carry annotations; what XLA reads, with jaxlib."""
    kinds = (
        *("abstract_eval", "batching", "dce", "discharge", "expand", "impl", "jvp", "linearize", "lowered"),
        *("printed", "remat", "storage", "transpose"),
    )  # fmt: skip
    return [
        LazyRules(
            kinds=kinds, load=lambda: _sets("metadata", "layout_constraint", "alike", "calls")
        ),
        LazyRules(kinds=("lowering",), load=lambda: _sets("lowering"), needs=("jaxlib",)),
    ]


@hookimpl
def plugjax_options() -> list[Option]:
    """What is told of the equations that are being written."""
    return [
        Option(
            "equation_marks", None, in_key=True, help="hints of the blocks that are open; not for users"
        )
    ]  # fmt: skip


@hookimpl
def plugjax_jaxpr_passes(
    platform: str,
) -> Sequence[Callable[[ClosedJaxpr], ClosedJaxpr]]:
    """Programs in place of annotated calls, for backends that do not read them."""
    if platform == "xla":
        return []
    calls = importlib.import_module("plugjax.experimental.annotations.calls").CALLS
    return [functools.partial(inlined, calls=dict.fromkeys(calls, _called))]
