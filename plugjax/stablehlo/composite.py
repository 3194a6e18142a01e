"""Lowering of composites: a call of the decomposition, marked with the composite's name."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.composite import CompositeAttribute, composite_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Attribute, Value

rules = RuleSet(__name__)

_NAME = re.compile(r"[a-zA-Z]\w*([.][\w$]+)+", re.ASCII)


@rules.define(lowering, composite_p)
def _composite(
    ctx: EqnContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    name: str,
    attributes: tuple[tuple[str, CompositeAttribute], ...],
    version: int,
) -> list[Value]:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"lax.composite: name must be a valid namespaced op name such as 'my_namespace.my_op', got {name!r}."
        )
    if ctx.module.variables is not None:
        # Sizes are operands of the function, and no compiler knows an operation with more operands by its name.
        return ctx.call(jaxpr, operands, name)
    described = {
        "name": mlir.string(name),
        "decomposition": mlir.symbol(ctx.module.function(jaxpr, name)),
        "composite_attributes": mlir.dictionary({k: _attribute(v.value) for k, v in attributes}),
        "version": mlir.attribute(f"{version} : i32"),
    }
    types = [mlir.type_of(aval) for aval in ctx.avals_out]
    return list(mlir.op("stablehlo.composite", types, list(operands), described).results)


def _attribute(value: Any) -> Attribute:
    if isinstance(value, (bool, np.bool_)):
        return mlir.boolean(bool(value))
    if isinstance(value, int):
        return mlir.i64(value)
    if isinstance(value, float):
        return mlir.floating(value)
    if isinstance(value, str):
        return mlir.string(value)
    if isinstance(value, np.dtype):
        return mlir.type_attribute(value)
    if isinstance(value, dict):
        return mlir.dictionary({key: _attribute(v) for key, v in value.items()})
    if isinstance(value, (list, tuple)):
        return mlir.array([_attribute(v) for v in value])
    return mlir.elements(value)
