"""The equation of a function that says how it is split: it stands for the function."""

from __future__ import annotations

from typing import Any

from plugjax.extend.core import ClosedJaxpr, Primitive, ShapedArray
from plugjax.extend.rules import RuleSet, abstract_eval, expand_rule

rules = RuleSet(__name__)

custom_partitioning_p = Primitive("custom_partitioning", multiple_results=True, structured=True)


@rules.define(abstract_eval, custom_partitioning_p)
def _avals(*_: ShapedArray, call: ClosedJaxpr, **__: Any) -> list[ShapedArray]:
    return call.out_avals


@rules.define(expand_rule, custom_partitioning_p)
def _expand(*, call: ClosedJaxpr, **_: Any) -> ClosedJaxpr:
    return call
