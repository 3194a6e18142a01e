"""Modules of exported functions as operations: the primitive ``exported_module``.

XLA takes the module. Backends whose devices share one memory compute the program of a function for several devices, if the
artifact holds it, as they compute programs over meshes.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plugjax.export.safety import DisabledSafetyCheck
from plugjax.export.spreading import check_device_count, without_partitioner
from plugjax.extend import registry
from plugjax.extend.backend import devices
from plugjax.extend.calls import jit_p
from plugjax.extend.core import (
    ClosedJaxpr,
    JaxprEqn,
    Primitive,
    ShapedArray,
    Sharding,
    from_host,
    memoise,
    physical_aval,
)
from plugjax.extend.errors import UnknownBackendError
from plugjax.extend.execution import Compiled, run_passes
from plugjax.extend.meshes import spread_rule, told_rule
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    impl,
    lowering,
    physical_rule,
)
from plugjax.extend.transforms import axes_inside, stage

if TYPE_CHECKING:
    from plugjax.export.artifact import Artifact

rules = RuleSet(__name__)

exported_module_p = Primitive("exported_module", multiple_results=True)


def module_program(exported: Artifact) -> ClosedJaxpr:
    """A program of one equation that stands for the module; the same one each time."""
    found = exported.__dict__.get("_module_program")
    if found is None:
        found = stage(
            lambda *xs: exported_module_p.bind(*xs, exported=exported, stored=False),
            [aval.update(spread=None) for aval in exported.in_avals],
            exported.fun_name,
        )
        # The class is frozen, but this is derived from its fields.
        exported.__dict__["_module_program"] = found
    program: ClosedJaxpr = found
    return program


@rules.define(abstract_eval, exported_module_p)
def _avals(*avals: ShapedArray, exported: Artifact, stored: bool) -> list[ShapedArray]:
    found = exported.out_avals
    return [physical_aval(aval) for aval in found] if stored else list(found)


@rules.define(physical_rule, exported_module_p)
def _physical(
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    *values: Any,
    exported: Artifact,
    stored: bool,
) -> Any:
    return exported_module_p.bind(*values, exported=exported, stored=True)


@rules.define(batching_rule, exported_module_p)
def _batching(*_: Any, exported: Artifact, stored: bool) -> Any:
    if exported.nr_devices > 1:
        raise NotImplementedError(
            f"vmap: Batching rule for 'call_exported' not implemented: '{exported.fun_name}' was exported for "
            f"{exported.nr_devices} devices. Map it before it is exported, or use lax.map."
        )
    raise NotImplementedError(
        f"vmap: Batching rule for 'call_exported' not implemented: the artifact of '{exported.fun_name}' holds a module only, "
        "whose shapes are fixed. Serialise it with jaxpr=True, or use lax.map."
    )


# Over several devices -----------------------------------------------------------------------------


@rules.define(told_rule, exported_module_p)
def _check_devices(sharding: Sharding, *, exported: Artifact, stored: bool) -> None:
    if exported.nr_devices > 1:
        check_device_count(exported.fun_name, exported.nr_devices, sharding.num_devices)


@rules.define(spread_rule, exported_module_p)
def _spread(operands: Sequence[Any], eqn: JaxprEqn) -> list[Any]:
    exported: Artifact = eqn.params["exported"]
    if exported.nr_devices == 1 or not operands:
        return [None] * len(eqn.outvars)
    mesh = operands[0].mesh
    check_device_count(exported.fun_name, exported.nr_devices, mesh.size)
    return [None if s is None else s.over(mesh) for s in exported._out_named_shardings]


def _shared_memory_program(exported: Artifact, platform: str) -> ClosedJaxpr:
    """The program for a backend whose devices share one memory."""
    program = exported._program
    if program is None:
        raise NotImplementedError(
            f"Exported.call: the artifact of '{exported.fun_name}' for {exported.nr_devices} devices holds a module only, which the "
            f"backend '{platform}' cannot run. Serialise it with jaxpr=True, or call it on devices of XLA."
        )
    found: ClosedJaxpr = memoise(
        program, ("exported for", platform), lambda: _for_shared_memory(program, platform)
    )
    return found


def _for_shared_memory(program: ClosedJaxpr, platform: str) -> ClosedJaxpr:
    with without_partitioner(platform), axes_inside(program):
        return run_passes(program, platform)


# The module ---------------------------------------------------------------------------------------


@rules.define(lowering, exported_module_p)
def _lower(ctx: Any, *operands: Any, exported: Artifact, stored: bool) -> list[Any]:
    if exported.nr_devices > 1 and ctx.platform != "xla":
        program = _shared_memory_program(exported, ctx.platform)
        found: list[Any] = ctx.call(program, operands, exported.fun_name)
        return found
    return lower_module(ctx, operands, exported)


def lower_module(ctx: Any, operands: Sequence[Any], exported: Artifact) -> list[Any]:
    """Write a call of the module, which is added to the one under construction."""
    arguments = importlib.import_module("plugjax.export.arguments")
    index = arguments.platform_index(exported, ctx.module.device_kind or "cpu")
    spread = exported.nr_devices > 1
    if spread:
        if ctx.module.manual_axes:
            raise ValueError(
                f"Exported.call: Function {exported.fun_name} was exported for {exported.nr_devices} devices and is called in the "
                f"program of one device, along {tuple(ctx.module.manual_axes)}. Call it outside of shard_map."
            )
        check_device_count(exported.fun_name, exported.nr_devices, ctx.module.devices)
        operands = _requested(ctx, operands, ctx.avals_in, exported._in_named_shardings)
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
            spread=spread,
        )
    results: list[Any] = call([operands[i] for i in kept])
    return (
        _requested(ctx, results, ctx.avals_out, exported._out_named_shardings)
        if spread
        else results
    )


def _requested(
    ctx: Any, values: Sequence[Any], avals: Sequence[ShapedArray], shardings: Sequence[Any]
) -> list[Any]:
    """Values that the compiler spreads as the artifact says."""
    meshes = importlib.import_module("plugjax.stablehlo.meshes")
    return [
        x if s is None else meshes.constrained(ctx.module, x, aval, s)
        for x, aval, s in zip(values, avals, shardings, strict=True)
    ]


@rules.define(impl, exported_module_p)
def _run(*values: Any, exported: Artifact, stored: bool) -> Any:
    if exported.nr_devices > 1:
        program = _shared_memory_program(exported, "numpy")
        return registry.table(impl)[jit_p](*values, jaxpr=program, name=exported.fun_name)
    return _run_by_xla(values, exported)


def _run_by_xla(values: Sequence[Any], exported: Artifact) -> list[Any]:
    """On the host there is no compiler for modules, so XLA runs it."""
    try:
        device = next(d for d in devices("xla") if d.kind == "cpu")
    except (UnknownBackendError, StopIteration) as error:
        raise UnknownBackendError(
            f"Exported.call: the artifact of '{exported.fun_name}' holds a module only, which the NumPy backend cannot run, and "
            "XLA is not installed. Serialise it with jaxpr=True, or install XLA: pip install plugjax-xla."
        ) from error
    placement = device.committed
    program = module_program(exported)

    def compiled_by_xla() -> Compiled:
        # Where it may be called has been checked: the host runs it for a device that its compiler fails for.
        disabled = (*exported.disabled_safety_checks, DisabledSafetyCheck.platform())
        anywhere = module_program(replace(exported, disabled_safety_checks=disabled))
        return Compiled(anywhere, placement, {"name": exported.fun_name})

    compiled = memoise(program, "on xla", compiled_by_xla)
    arrays = [from_host(np.asarray(x), placement=placement) for x in values]
    return [np.asarray(y._fetch()) for y in compiled.call(arrays)]
