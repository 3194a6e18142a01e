"""Calls of exported functions.

A call is one equation with two forms: a program, which transformations and NumPy take, and the StableHLO module, which XLA
takes. If an artifact holds no program, the program is one equation that stands for its module.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from plugjax.extend import pytree, registry
from plugjax.extend.backend import devices
from plugjax.extend.calls import custom_vjp, jit_p
from plugjax.extend.core import (
    ClosedJaxpr,
    Primitive,
    ShapedArray,
    as_array,
    aval_of,
    from_host,
    memoise,
    physical_aval,
    zeros,
)
from plugjax.extend.dtypes import float0
from plugjax.extend.errors import UnknownBackendError
from plugjax.extend.execution import Compiled
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    expand_rule,
    impl,
    jvp_rule,
    linearize_rule,
    lowering,
    physical_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Kept, stage

if TYPE_CHECKING:
    from plugjax.export.artifact import Artifact

rules = RuleSet(__name__)

call_exported_p = Primitive("call_exported", multiple_results=True, structured=True)
exported_module_p = Primitive("exported_module", multiple_results=True)


def call_exported(exported: Artifact, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an exported function with the arguments that it was exported for."""
    leaves, in_tree = pytree.flatten((args, kwargs))
    if in_tree != exported.in_tree:
        raise ValueError(
            "Exported.call: The invocation args and kwargs must have the same pytree structure as when the function "
            f"'{exported.fun_name}' was exported: {pytree.first_difference(exported.in_tree, in_tree)}."
        )
    values = [as_array(x, "Exported.call") for x in leaves]
    avals = [aval_of(x) for x in values]
    found = _arguments().fitted(exported, avals)
    return pytree.unflatten(exported.out_tree, _call_flat(found, values))


def _arguments() -> ModuleType:
    # The plugin loads this module, and most programs call nothing that was exported.
    return importlib.import_module("plugjax.export.arguments")


def _call_flat(exported: Artifact, values: Sequence[Any]) -> Sequence[Any]:
    if exported.ordered_effects or exported.unordered_effects:
        raise NotImplementedError(
            f"Exported.call: '{exported.fun_name}' has effects {exported.ordered_effects + exported.unordered_effects}, "
            "which modules of other processes cannot have here."
        )
    if exported.nr_devices != 1:
        raise ValueError(
            f"Exported.call: Function {exported.fun_name} was exported for {exported.nr_devices} devices and is called in a "
            "context with 1 device."
        )
    if exported._program is not None:
        found: list[Any] = call_exported_p.bind(*values, jaxpr=exported._program, exported=exported)
        return found
    results: Sequence[Any] = _with_derivative(exported)(*values)
    return results


def _with_derivative(exported: Artifact) -> Callable[..., Any]:
    """A call of a module whose derivative is another module; the same function each time."""
    known: Callable[..., Any] | None = exported.__dict__.get("_with_derivative")
    if known is not None:
        return known
    program = _module_program(exported)

    def run(*values: Any) -> list[Any]:
        found: list[Any] = call_exported_p.bind(*values, jaxpr=program, exported=exported)
        return found

    function: Any = custom_vjp(run)

    def forward(*values: Any) -> tuple[Sequence[Any], tuple[Any, ...]]:
        # The function itself, so that the next derivative is known too.
        return function(*values), values

    def backward(values: tuple[Any, ...], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        derivative = exported.vjp()
        wanted = derivative.in_avals[len(values) :]
        given = [
            zeros(aval.update(shape=out.shape)) if aval.dtype == float0 else bar
            for bar, aval, out in zip(cotangents, wanted, exported.out_avals, strict=True)
        ]
        operands = [*values, *given]
        return tuple(
            _call_flat(_arguments().fitted(derivative, [aval_of(x) for x in operands]), operands)
        )

    function.defvjp(forward, backward)
    exported.__dict__["_with_derivative"] = function
    return function  # type: ignore[no-any-return]  # of a decorator


def _module_program(exported: Artifact) -> ClosedJaxpr:
    """A program of one equation that stands for the module; the same one each time."""
    found = exported.__dict__.get("_module_program")
    if found is None:
        found = stage(
            lambda *xs: exported_module_p.bind(*xs, exported=exported, stored=False),
            exported.in_avals,
            exported.fun_name,
        )
        # The class is frozen, but this is derived from its fields.
        exported.__dict__["_module_program"] = found
    program: ClosedJaxpr = found
    return program


@rules.define(abstract_eval, call_exported_p)
def _call_avals(*avals: ShapedArray, jaxpr: ClosedJaxpr, exported: Artifact) -> list[ShapedArray]:
    return jaxpr.out_avals


def _as_call(kind: Any) -> Callable[..., Any]:
    """A rule of a transformation: that for a call of the program."""

    def rule(*given: Any, jaxpr: ClosedJaxpr, exported: Artifact) -> Any:
        return registry.table(kind)[jit_p](*given, jaxpr=jaxpr, name=exported.fun_name)

    return rule


rules.define(jvp_rule, call_exported_p)(_as_call(jvp_rule))
rules.define(linearize_rule, call_exported_p)(_as_call(linearize_rule))
rules.define(transpose_rule, call_exported_p)(_as_call(transpose_rule))
rules.define(batching_rule, call_exported_p)(_as_call(batching_rule))


@rules.define(expand_rule, call_exported_p)
def _expand(*, jaxpr: ClosedJaxpr, exported: Artifact) -> Kept:
    return Kept(jaxpr, inline=False)


@rules.define(impl, call_exported_p)
def _run(*values: Any, jaxpr: ClosedJaxpr, exported: Artifact) -> Any:
    _arguments().platform_index(exported, "cpu")
    return registry.table(impl)[jit_p](*values, jaxpr=jaxpr, name=exported.fun_name)


@rules.define(lowering, call_exported_p)
def _lower(ctx: Any, *operands: Any, jaxpr: ClosedJaxpr, exported: Artifact) -> list[Any]:
    index = _arguments().platform_index(exported, ctx.module.device_kind or "cpu")
    if exported._program is not None and ctx.platform != "xla":
        # Each compiler gets the operations that are right for it.
        found: list[Any] = ctx.call(jaxpr, operands, exported.fun_name)
        return found
    return _lower_module(ctx, operands, exported, index)


def _lower_module(ctx: Any, operands: Sequence[Any], exported: Artifact, index: int) -> list[Any]:
    artifacts = importlib.import_module("plugjax.stablehlo.artifacts")
    kept = exported.module_kept_var_idx
    avals = ctx.avals_in
    call = ctx.module.imported.get(exported)
    if call is None:
        call = ctx.module.imported[exported] = artifacts.merged(
            ctx.module,
            exported.mlir_module_serialized,
            exported.fun_name,
            [avals[i] for i in kept],
            ctx.avals_out,
            index if len(exported.platforms) > 1 else None,
        )
    results: list[Any] = call([operands[i] for i in kept])
    return results


@rules.define(abstract_eval, exported_module_p)
def _module_avals(*avals: ShapedArray, exported: Artifact, stored: bool) -> list[ShapedArray]:
    found = exported.out_avals
    return [physical_aval(aval) for aval in found] if stored else list(found)


@rules.define(physical_rule, exported_module_p)
def _module_physical(
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    *values: Any,
    exported: Artifact,
    stored: bool,
) -> Any:
    return exported_module_p.bind(*values, exported=exported, stored=True)


@rules.define(batching_rule, exported_module_p)
def _module_batching(*_: Any, exported: Artifact, stored: bool) -> Any:
    raise NotImplementedError(
        f"vmap: Batching rule for 'call_exported' not implemented: the artifact of '{exported.fun_name}' holds a module only, "
        "whose shapes are fixed. Serialise it with jaxpr=True, or use lax.map."
    )


@rules.define(lowering, exported_module_p)
def _module_lower(ctx: Any, *operands: Any, exported: Artifact, stored: bool) -> list[Any]:
    index = _arguments().platform_index(exported, ctx.module.device_kind or "cpu")
    return _lower_module(ctx, operands, exported, index)


@rules.define(impl, exported_module_p)
def _module_run(*values: Any, exported: Artifact, stored: bool) -> list[Any]:
    """On the host there is no compiler for modules, so XLA runs it."""
    try:
        device = next(d for d in devices("xla") if d.kind == "cpu")
    except (UnknownBackendError, StopIteration) as error:
        raise UnknownBackendError(
            f"Exported.call: the artifact of '{exported.fun_name}' holds a module only, which the NumPy backend cannot run, and "
            "XLA is not installed. Serialise it with jaxpr=True, or install XLA: pip install plugjax-xla."
        ) from error
    placement = device.committed
    compiled = memoise(
        _module_program(exported),
        "on xla",
        lambda: Compiled(_module_program(exported), placement, {"name": exported.fun_name}),
    )
    arrays = [from_host(np.asarray(x), placement=placement) for x in values]
    return [np.asarray(y._fetch()) for y in compiled.call(arrays)]
