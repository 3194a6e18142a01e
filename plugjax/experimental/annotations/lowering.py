"""Annotations as XLA reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.experimental.annotations.alike import shard_alike_p
from plugjax.experimental.annotations.calls import (
    compute_attributes,
    compute_on_p,
    fused_p,
    spaces,
    xla_metadata_call_p,
)
from plugjax.experimental.annotations.layout_constraint import layout_constraint_p
from plugjax.experimental.annotations.metadata import text_of, xla_metadata_value_p
from plugjax.extend.core import ClosedJaxpr, programs_in
from plugjax.extend.layouts import Layout
from plugjax.extend.memories import MemorySpace
from plugjax.extend.rules import RuleSet, lowering
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.custom_call import custom_call
from plugjax.stablehlo.hints import FRONTEND, annotate
from plugjax.stablehlo.mlir import Attribute, Value

rules = RuleSet(__name__)

_KINDS = {MemorySpace.Device: "device", MemorySpace.Host: "pinned_host"}


@rules.define(lowering, xla_metadata_value_p)
def _value(ctx: EqnContext, x: Value, *, xla_metadata_kvs: Sequence[tuple[str, Any]]) -> Value:
    if ctx.module.hints:
        annotate(mlir.defining(x), {name: text_of(v) for name, v in xla_metadata_kvs})
    return x


@rules.define(lowering, shard_alike_p)
def _alike(ctx: EqnContext, *operands: Value) -> Sequence[Value]:
    module = ctx.module
    if module.meshes:
        group = {"group_id": mlir.attribute(f"{module.sharding_groups} : i64")}
        module.sharding_groups += 1
        for x in operands:
            mlir.op("sdy.sharding_group", [], [x], group)
    return operands


@rules.define(lowering, layout_constraint_p)
def _constraint(ctx: EqnContext, x: Value, *, layout: Layout) -> Value:
    if not ctx.module.hints:
        return x
    (aval,) = ctx.avals_in
    known = not mlir.has_symbols(aval.shape)
    return custom_call(
        "LayoutConstraint",
        [mlir.type_of(aval)],
        [x],
        api_version=1,
        operand_layouts=[range(aval.ndim)],
        result_layouts=[layout.major_to_minor[::-1]],
        result_sizes=None if known else [aval.shape],
    ).result


def text_attribute(x: Any) -> Attribute:
    """A text as an attribute, of metadata of a call.

    Raises:
        NotImplementedError: it is no text.
    """
    if not isinstance(x, str):
        raise NotImplementedError(f"metadata of a call is text, got {x!r} of {type(x)}")
    return mlir.string(x)


@rules.define(lowering, xla_metadata_call_p, platform="xla")
def _metadata_call(
    ctx: EqnContext, *operands: Value, jaxpr: ClosedJaxpr, **meta: str
) -> Sequence[Value]:
    attributes = {name: text_attribute(value) for name, value in meta.items()}
    outs = ctx.call(jaxpr, operands, "xla_metadata_call")
    _attach(outs, attributes)
    return outs


def _attach(outs: Sequence[Value], attributes: dict[str, Attribute]) -> None:
    """Give the call that gives these values attributes."""
    operation = mlir.defining(outs[0]) if outs else None
    if operation is not None:
        operation.attributes[FRONTEND] = mlir.dictionary(attributes)


@rules.define(lowering, compute_on_p, platform="xla")
def _compute_on(
    ctx: EqnContext,
    *operands: Value,
    jaxpr: ClosedJaxpr,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options_json: str | None,
) -> Sequence[Value]:
    if _computes_elsewhere(jaxpr):
        raise ValueError(
            "Nesting `compute_on` with different compute types is not allowed. Take the inner one out."
        )
    told = compute_attributes(compute_type)
    if compiler_options_json is not None:
        told["backend_config"] = compiler_options_json
    elif compute_type == "device":
        told["inlineable"] = "false"
    outs = ctx.call(jaxpr, operands, "compute_on")
    _attach(outs, {name: mlir.string(text) for name, text in told.items()})
    return [
        _placed(value, space)
        for value, space in zip(outs, spaces(out_memory_spaces, jaxpr), strict=True)
    ]


def _computes_elsewhere(jaxpr: ClosedJaxpr) -> bool:
    return any(
        eqn.primitive is compute_on_p or any(map(_computes_elsewhere, programs_in(eqn.params)))
        for eqn in jaxpr.jaxpr.eqns
    )


def _placed(value: Value, space: MemorySpace) -> Value:
    found = custom_call(
        "annotate_device_placement", [value.type], [value], has_side_effect=True, api_version=1
    )
    found.attributes[FRONTEND] = mlir.dictionary(
        {"_xla_buffer_placement": mlir.string(_KINDS[space])}
    )
    return found.result


@rules.define(lowering, fused_p, platform="xla")
def _fused(
    ctx: EqnContext, *operands: Value, jaxpr: ClosedJaxpr, out_spaces: Any
) -> Sequence[Value]:
    if ctx.module.device_kind != "cuda":
        return ctx.call(jaxpr, operands, "fused")
    texts = [mlir.string(str(space)) for space in spaces(out_spaces, jaxpr)]
    found = custom_call(
        "fused",
        [mlir.type_of(aval) for aval in ctx.avals_out],
        operands,
        called_computations=[ctx.module.function(jaxpr, "fused")],
        backend_config={
            "out_spaces": mlir.array(texts),
            "inlineable": mlir.boolean(False),
            "MUST_FUSE": mlir.boolean(True),
        },
    )
    return list(found.results)
