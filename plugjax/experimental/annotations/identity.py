"""Primitives that give their operand, and tell the compiler something of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Primitive, ShapedArray, Zero
from plugjax.extend.execution import Storage, storage
from plugjax.extend.rules import RuleSet, abstract_eval, impl, jvp_rule


def define_identity(rules: RuleSet, primitive: Primitive) -> None:
    """The rules of a primitive that gives its one operand; its tangent is annotated as well.

    Args:
        rules: where they are put.
        primitive: whose rules they are.
    """

    @rules.define(abstract_eval, primitive)
    def aval(aval: ShapedArray, **_: Any) -> ShapedArray:
        return aval

    @rules.define(impl, primitive)
    def run(x: Any, **_: Any) -> Any:
        return x

    @rules.define(storage, primitive)
    def moves(_: Any) -> Storage:
        return Storage.MOVES

    @rules.define(jvp_rule, primitive)
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x,), (x_dot,) = primals, tangents
        y = primitive.bind(x, **params)
        return y, x_dot if type(x_dot) is Zero else primitive.bind(x_dot, **params)
