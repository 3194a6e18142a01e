"""Elementwise lowerings: stretch the operands, apply one operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet, lowering
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value


def stretched(ctx: EqnContext, operands: Sequence[Value]) -> Sequence[Value]:
    """The operands in the shape of the result, dtypes unchanged."""
    out = ctx.eqn.outvars[0].aval
    shape = out.shape
    for var in ctx.eqn.invars:
        if var.aval.shape != shape:
            break
    else:
        return operands
    return [
        x if v.aval.shape == shape else mlir.broadcast(x, v.aval, out)
        for x, v in zip(operands, ctx.eqn.invars, strict=True)
    ]


def elementwise(operation: str, on_bool: str | None = None) -> Callable[..., Value]:
    """The lowering that is one operation.

    Args:
        operation: name of the operation.
        on_bool: its name for bools, if it differs.
    """

    def rule(ctx: EqnContext, *operands: Value, **_: Any) -> Value:
        name = operation
        if on_bool is not None and ctx.eqn.invars[0].aval.dtype.kind == "b":
            name = on_bool
        if len(operands) > 1:
            operands = stretched(ctx, operands)  # type: ignore[assignment]  # any sequence will do
        return mlir.op(name, [mlir.type_of(ctx.eqn.outvars[0].aval)], operands).result

    return rule


def define_elementwise(rules: RuleSet, operations: Mapping[Primitive, str]) -> None:
    """Lower each primitive to its operation."""
    for primitive, operation in operations.items():
        rules.define(lowering, primitive)(elementwise(operation))
