"""Calls of exported functions.

A call is one equation with two forms: a program, which transformations and NumPy take, and the StableHLO module, which XLA
takes. If an artifact holds no program, or is for several devices, the program is one equation that stands for its module
(``module_calls.py``), and derivatives are those that the artifact holds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from plugjax.export.module_calls import lower_module, module_program
from plugjax.extend import pytree, registry
from plugjax.extend.calls import custom_vjp, jit_p
from plugjax.extend.core import (
    ClosedJaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Tracer,
    as_array,
    aval_of,
    device_put,
    memoise,
    zeros,
)
from plugjax.extend.dtypes import float0
from plugjax.extend.meshes import (
    Mesh,
    NamedSharding,
    inner_spread_rule,
    result_shardings,
    spread_rule,
    untyped,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    expand_rule,
    impl,
    jvp_rule,
    linearize_rule,
    lowering,
    transpose_rule,
)
from plugjax.extend.transforms import Kept, inlined, stage

if TYPE_CHECKING:
    from plugjax.export.artifact import Artifact

rules = RuleSet(__name__)

call_exported_p = Primitive("call_exported", multiple_results=True, structured=True)


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
    if exported._program is not None and exported.nr_devices == 1:
        found: list[Any] = call_exported_p.bind(*values, jaxpr=exported._program, exported=exported)
        return found
    results: Sequence[Any] = _with_derivative(exported)(*values)
    return list(map(_as_stated, results, exported._out_named_shardings))


def _as_stated(x: Any, sharding: NamedSharding | None) -> Any:
    """An array over the mesh that the artifact states, of the devices that it is on."""
    if sharding is None or isinstance(x, Tracer) or x.sharding.num_devices == 1:
        return x
    mesh = sharding.mesh
    devices = np.array(x.sharding.devices, object).reshape(mesh.axis_sizes)
    return device_put(x, sharding.update(mesh=Mesh(devices, mesh.axis_names, mesh.axis_types)))


def _with_derivative(exported: Artifact) -> Callable[..., Any]:
    """A call of a module whose derivative is another module; the same function each time."""
    known: Callable[..., Any] | None = exported.__dict__.get("_with_derivative")
    if known is not None:
        return known
    program = module_program(exported)

    def run(*values: Any) -> list[Any]:
        found: list[Any] = call_exported_p.bind(
            *map(untyped, values), jaxpr=program, exported=exported
        )
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


@rules.define(inner_spread_rule, call_exported_p)
def _inside(operands: Sequence[Any], eqn: JaxprEqn) -> list[tuple[ClosedJaxpr, Sequence[Any]]]:
    return [(eqn.params["jaxpr"], operands)] if operands else []


@rules.define(spread_rule, call_exported_p)
def _spread(operands: Sequence[Any], eqn: JaxprEqn) -> list[Any]:
    open_results: list[None] = [None] * len(eqn.outvars)
    if not operands:
        return open_results
    return list(result_shardings(eqn.params["jaxpr"], operands[0].mesh, operands, open_results))


@rules.define(impl, call_exported_p)
def _run(*values: Any, jaxpr: ClosedJaxpr, exported: Artifact) -> Any:
    _arguments().platform_index(exported, "cpu")
    return registry.table(impl)[jit_p](*values, jaxpr=jaxpr, name=exported.fun_name)


@dataclass(frozen=True)
class _Checked:
    """A call of the program on hardware that the function was exported for."""

    hardware: str

    def __call__(self, params: Mapping[str, Any]) -> ClosedJaxpr | None:
        """That call, of the parameters of an equation; ``None`` on other hardware, which is refused when the equation is lowered or run."""
        try:
            _arguments().platform_index(params["exported"], self.hardware)
        except ValueError:
            return None
        return _call_of(params["jaxpr"], params["exported"].fun_name)


def _call_of(program: ClosedJaxpr, name: str) -> ClosedJaxpr:
    """A program that calls another one: backends compile that once, however often it is called."""

    def call(*xs: Any) -> Any:
        return jit_p.bind(*xs, jaxpr=program, name=name)

    found: ClosedJaxpr = memoise(program, "called", lambda: stage(call, program.in_avals, name))
    return found


def checked_for(hardware: str, program: ClosedJaxpr) -> ClosedJaxpr:
    """A program with calls of programs in place of exported functions, on hardware for which they were exported."""
    return inlined(program, {call_exported_p: _Checked(hardware)})


@rules.define(lowering, call_exported_p)
def _lower(ctx: Any, *operands: Any, jaxpr: ClosedJaxpr, exported: Artifact) -> list[Any]:
    if ctx.platform != "xla" and (exported._program is not None or exported.nr_devices > 1):
        # Each compiler gets the operations that are right for it.
        _arguments().platform_index(exported, ctx.module.device_kind or "cpu")
        found: list[Any] = ctx.call(jaxpr, operands, exported.fun_name)
        return found
    return lower_module(ctx, operands, exported)
