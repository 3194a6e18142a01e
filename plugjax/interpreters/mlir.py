"""StableHLO of primitives that a program defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from plugjax.extend.calls import define, defined
from plugjax.extend.core import (
    ClosedJaxpr,
    Primitive,
    ShapedArray,
    as_array,
    aval_of,
    eval_closed,
    lowerable_effects,
)
from plugjax.extend.dtypes import DType, is_extended
from plugjax.extend.errors import LoweringError
from plugjax.extend.execution import run_passes
from plugjax.extend.meshes import Mesh
from plugjax.extend.rules import expand_rule, impl, lowering
from plugjax.extend.transforms import Kept, physicalize, show_only, stage
from plugjax.interpreters.constants import (
    ConstantHandler,
    aval_to_ir_type,
    aval_to_ir_types,
    ir_constant,
    ir_constants,
    ir_tree_registry,
    ir_type_handlers,
    register_constant_handler,
)
from plugjax.interpreters.modules import (
    LoweringResult,
    TokenSet,
    core_call_lowering,
    emit_python_callback,
    flatten_ir_types,
    flatten_ir_values,
    jaxpr_subcomp,
    lower_jaxpr_to_fun,
    lower_jaxpr_to_module,
    make_ir_context,
    merge_mlir_modules,
    module_to_bytecode,
    module_to_string,
    shape_tensor,
    token_type,
    unflatten_ir_values_like_types,
)
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext, ModuleContext
from plugjax.stablehlo.custom_call import attribute_of
from plugjax.stablehlo.lowering_state import (
    AxisContext,
    LoweringParameters,
    MeshAxisName,
    ShapePolyLoweringState,
    ShardingContext,
    SPMDAxisContext,
)

Value = Any
Token = Any
LoweringRule = Callable[..., Any]
LoweringRuleContext = EqnContext

# Types of channels in StableHLO, for ``stablehlo.ChannelHandle``.
DEVICE_TO_DEVICE_TYPE = 1
SEND_TO_HOST_TYPE = 2
RECV_FROM_HOST_TYPE = 3


_rules: dict[Primitive, dict[str | None, LoweringRule]] = {}


def register_lowering(
    prim: Primitive,
    rule: LoweringRule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> LoweringRule:
    """Give a primitive its lowering.

    Args:
        prim: the primitive.
        rule: ``(ctx, *values, **params) -> value or list of them``, with the builders of ``plugjax.extend.mlir.dialects``.
        platform: hardware (``"cpu"``, ``"cuda"``, ``"rocm"``) or a backend (``"xla"``, ``"iree"``) that the rule is for;
            ``None`` for all.
        inline: accepted as in JAX; operations are always written in place.
        cacheable: accepted as in JAX.

    Raises:
        RuleConflictError: a plugin has a lowering of the primitive.
    """
    known = _rules.get(prim)
    if known is None:
        known = {}
        define(lowering, prim, _chosen(prim, known))
        _rules[prim] = known
    if isinstance(rule, _Function) and defined(impl, prim) is None:
        # Where there is no compiler, the function itself is the evaluation.
        prim.def_impl(rule.fun)
    for name in ("cuda", "rocm") if platform == "gpu" else (platform,):
        known[name] = rule
    if platform is None and isinstance(rule, _Function):
        define(expand_rule, prim, _stands_for(rule, known))
    return rule


def _stands_for(
    rule: _Function, rules: dict[str | None, LoweringRule]
) -> Callable[..., Callable[..., Any] | Kept]:
    """The rule ``expand`` of a primitive whose lowering is a function of arrays: it takes the equation's place in programs."""

    def expand(**params: Any) -> Callable[..., Any] | Kept:
        callee = partial(_in_place, rule, params)
        # Where a platform has a rule of its own, the equation stays.
        return callee if rules == {None: rule} else Kept(callee, inline=False)

    return expand


def _in_place(rule: _Function, params: dict[str, Any], *operands: Any) -> list[Any]:
    """What the function computes.

    Programs have no keys any more where equations are replaced, so the function's own are replaced here. An equation with
    keys among its operands is replaced before, and its function's keys with it.
    """
    avals = [aval_of(x) for x in operands]
    program = rule.staged(avals, params)
    with_keys = any(is_extended(aval.dtype) for aval in avals)
    return eval_closed(program if with_keys else physicalize(program), *operands)


def _chosen(prim: Primitive, rules: dict[str | None, LoweringRule]) -> LoweringRule:
    """A lowering that picks the rule of the hardware, of the backend, or of all, in this order."""

    def lower(ctx: EqnContext, *values: Value, **params: Any) -> Any:
        hardware = ctx.module.device_kind or "cpu"
        for name in (hardware, ctx.platform, None):
            if name in rules:
                return rules[name](ctx, *values, **params)
        given = ", ".join(map(str, rules))
        raise LoweringError(
            f"primitive '{prim}' has lowerings for {given}, none for {hardware} of backend {ctx.platform}. "
            "Register one without a platform."
        )

    return lower


class _Function:
    """A lowering that writes what a function of arrays does."""

    def __init__(self, fun: Callable[..., Any], multiple_results: bool) -> None:
        self.fun = fun
        self.multiple_results = multiple_results

    def __call__(self, ctx: EqnContext, *values: Value, **params: Any) -> list[Value]:
        program = self.staged(ctx.avals_in, params)
        return ctx.inline(run_passes(program, ctx.platform), values)

    def staged(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
        """What the function does, as a program."""

        def flat(*operands: Any) -> list[Any]:
            found = self.fun(*operands, **params)
            return [as_array(y) for y in (found if self.multiple_results else [found])]

        return stage(flat, avals, getattr(self.fun, "__name__", "lower_fun"))


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweringRule:
    """A lowering that writes what a function of arrays does; without ``def_impl``, it also evaluates on the host.

    Args:
        fun: of the operands and parameters.
        multiple_results: whether it gives a sequence.
    """
    return _Function(fun, multiple_results)


def dtype_to_ir_type(dtype: DType) -> Any:
    """The MLIR type of an element."""
    return mlir.element_type(np.dtype(dtype))


def ir_attribute(value: Any) -> Any:
    """A Python value as an attribute: a number, a string, a dtype, an array, or a sequence or dict of these.

    Raises:
        TypeError: there is no attribute for it.
    """
    return attribute_of(value)


def i32_attr(number: int) -> Any:
    """A 32-bit integer attribute."""
    return mlir.attribute(f"{int(number)} : i32")


def i64_attr(number: int) -> Any:
    """A 64-bit integer attribute."""
    return mlir.i64(int(number))


def dense_int_array(numbers: Sequence[int]) -> Any:
    """An attribute that is an array of 64-bit integers."""
    return mlir.i64s(numbers)


def dense_int_elements(numbers: Sequence[int]) -> Any:
    """An attribute that is a tensor of 64-bit integers."""
    return mlir.elements(np.asarray(numbers, np.int64))


__all__ = [
    "DEVICE_TO_DEVICE_TYPE",
    "RECV_FROM_HOST_TYPE",
    "SEND_TO_HOST_TYPE",
    "AxisContext",
    "ConstantHandler",
    "LoweringParameters",
    "LoweringResult",
    "LoweringRule",
    "LoweringRuleContext",
    "Mesh",
    "MeshAxisName",
    "ModuleContext",
    "SPMDAxisContext",
    "ShapePolyLoweringState",
    "ShardingContext",
    "Token",
    "TokenSet",
    "Value",
    "aval_to_ir_type",
    "aval_to_ir_types",
    "core_call_lowering",
    "dense_int_array",
    "dense_int_elements",
    "dtype_to_ir_type",
    "emit_python_callback",
    "flatten_ir_types",
    "flatten_ir_values",
    "i32_attr",
    "i64_attr",
    "ir",
    "ir_attribute",
    "ir_constant",
    "ir_constants",
    "ir_tree_registry",
    "ir_type_handlers",
    "jaxpr_subcomp",
    "lower_fun",
    "lower_jaxpr_to_fun",
    "lower_jaxpr_to_module",
    "lowerable_effects",
    "make_ir_context",
    "merge_mlir_modules",
    "module_to_bytecode",
    "module_to_string",
    "register_constant_handler",
    "register_lowering",
    "shape_tensor",
    "token_type",
    "unflatten_ir_values_like_types",
]

show_only(globals(), __all__)
