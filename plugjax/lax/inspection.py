"""The primitive behind ``debug.inspect_array_sharding``: a function gets the sharding of a value.

A value that is there tells it at once. In a program it is told when the program is compiled: by the compiler if it spreads
programs (the backend's lowering), else by what is known of how values are spread (``meshes/propagation.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plugjax.extend.core import Effects, Primitive, ShapedArray, Sharding, Tracer
from plugjax.extend.meshes import told_rule
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    effects_rule,
    expand_rule,
    jvp_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, Kept
from plugjax.lax.effects import debug_effect

rules = RuleSet(__name__)

inspect_sharding_p = Primitive("inspect_sharding", multiple_results=True, structured=True)


@dataclass(frozen=True, eq=False, slots=True)
class Inspection:
    """Who is told.

    Attributes:
        function: gets the sharding.
        of_one_device: whether the value is in the program of one device, which has it whole.
        compiled: whether the program is about to be compiled.
    """

    function: Callable[[Sharding], Any]
    of_one_device: bool = False
    compiled: bool = False

    def __repr__(self) -> str:
        return repr(self.function)


def inspect_sharding(x: Any, function: Callable[[Sharding], Any]) -> None:
    """Tell a function how a value is spread, now or when the program is compiled."""
    inspect_sharding_p.bind(x, callback=Inspection(function))


@rules.define(abstract_eval, inspect_sharding_p)
def _avals(x: ShapedArray, *, callback: Inspection) -> list[ShapedArray]:
    return []


@rules.define(effects_rule, inspect_sharding_p)
def _effects(**_: Any) -> Effects:
    return frozenset({debug_effect})


@rules.define(expand_rule, inspect_sharding_p)
def _expand(*, callback: Inspection) -> Kept | Callable[[Any], list[Any]]:
    def tell(x: Any) -> list[Any]:
        if not isinstance(x, Tracer):
            callback.function(x.sharding)
            return []
        return inspect_sharding_p.bind(x, callback=replace(callback, compiled=True))

    return Kept(tell, inline=False) if callback.compiled else tell


@rules.define(told_rule, inspect_sharding_p)
def _told(sharding: Sharding, *, callback: Inspection) -> None:
    callback.function(sharding.whole if callback.of_one_device else sharding)


@rules.define(jvp_rule, inspect_sharding_p)
def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, callback: Inspection
) -> tuple[list[Any], list[Any]]:
    return inspect_sharding_p.bind(*primals, callback=callback), []


@rules.define(transpose_rule, inspect_sharding_p)
def _transpose(cotangents: Sequence[Any], operand: Any, **_: Any) -> list[Any]:
    return [None]


@rules.define(batching_rule, inspect_sharding_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, callback: Inspection
) -> tuple[list[Any], list[Any]]:
    if axis.of_mesh:
        callback = replace(callback, of_one_device=True)
    return inspect_sharding_p.bind(*args, callback=callback), []
