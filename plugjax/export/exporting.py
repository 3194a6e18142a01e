"""``export``: from a jitted function and a signature to an artifact."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.debug import progress
from plugjax.export.artifact import (
    Artifact,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from plugjax.export.exported import Exported
from plugjax.export.safety import DisabledSafetyCheck, check_targets
from plugjax.export.spreading import (
    Shardings,
    for_partitioner,
    named_shardings,
    program_without_devices,
)
from plugjax.export.symbolic.dimension import is_symbolic_dim
from plugjax.export.symbolic.equations import Solution, Written
from plugjax.extend.backend import get_default_device
from plugjax.extend.core import (
    ClosedJaxpr,
    Jaxpr,
    Primitive,
    ShapedArray,
    ShapeDtypeStruct,
    config,
    jaxpr_as_fun,
)
from plugjax.extend.execution import Traced, Wrapped, jit, run_passes
from plugjax.extend.meshes import NamedSharding, Partition
from plugjax.extend.transforms import axes_inside, discharge, is_reference, vjp

PLATFORMS = ("cpu", "cuda", "rocm", "tpu", "vulkan")


def default_export_platform() -> str:
    """The platform that functions are exported for unless others are named: ``"cpu"``, ``"cuda"``, ``"rocm"``, ``"tpu"`` or ``"vulkan"``.

    It is the hardware of the default device; a machine's own processor and NumPy are ``"cpu"``.

    Example:
        >>> from plugjax import export
        >>> export.default_export_platform() in ("cpu", "cuda")
        True
    """
    hardware = get_default_device().hardware
    return hardware if hardware in PLATFORMS else "cpu"


def export(
    fun_jit: Callable[..., Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
    _override_lowering_rules: Sequence[tuple[Primitive, Callable[..., Any]]] | None = None,
) -> Callable[..., Exported]:
    """Export a function: a program that is kept, and that plugjax and JAX of other versions run.

    Args:
        fun_jit: what ``jit`` returns.
        platforms: what the artifact runs on, some of ``"cpu"``, ``"cuda"``, ``"rocm"``, ``"tpu"``, ``"vulkan"``; by default that of the
            default device. An artifact for several holds the program once, or once for each where they differ.
        disabled_checks: checks that are not made.
        _override_lowering_rules: pairs of a primitive and the rule ``(ctx, *operands, **params)`` that lowers it here.

    Returns:
        A function of arrays or ``ShapeDtypeStruct`` that gives the exported function. Sizes may be those of
        :func:`symbolic_shape`: the artifact then serves all of their values. A function over a mesh is exported for any
        devices of that number; its shardings are kept by the names of the mesh.

    Raises:
        ValueError: the function was not jitted, a platform is unknown, or the program holds a custom call without
            guarantees.
        InconclusiveDimensionOperation: what is traced depends on a size that is not known.
        NotImplementedError: the program has effects, such as printing; there is no Python where it runs. Or an operation
            has no form for sizes that are not known, or a sharding is by no names of a mesh.
        LoweringError: a primitive has no lowering.

    Differs from JAX:
        The other arguments of JAX's function are those of its internals.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> from plugjax import export
        >>> exported = export.export(plugjax.jit(jnp.exp2))(plugjax.ShapeDtypeStruct((), "float32"))
        >>> exported.call(3.0)
        Array(8., dtype=float32)
    """
    if not isinstance(fun_jit, Wrapped):
        raise ValueError(
            f"export: Function to be exported must be the result of `jit` but is: {fun_jit}. Write export(jit(f))."
        )
    chosen = None if platforms is None else tuple(platforms)
    if chosen is not None:
        _check_platforms(chosen)

    def export_for(*args: Any, **kwargs: Any) -> Exported:
        with progress.if_long(f"exporting {getattr(fun_jit, '__name__', 'a function')}"):
            return _export_traced(
                fun_jit.trace(*args, **kwargs),
                chosen or (default_export_platform(),),
                tuple(disabled_checks),
                dict(_override_lowering_rules or ()),
            )

    return export_for


def _calling_convention() -> int:
    version: int = config.read("export_calling_convention_version")
    oldest, newest = (
        minimum_supported_calling_convention_version,
        maximum_supported_calling_convention_version,
    )
    if not oldest <= version <= newest:
        raise ValueError(
            f"export: the calling convention version {version} is outside the range of supported versions [{oldest}..{newest}]. Set "
            "jax_export_calling_convention_version."
        )
    return version


def _check_platforms(platforms: Sequence[str]) -> None:
    for name in platforms:
        if name not in PLATFORMS:
            raise ValueError(
                f"export: unknown platform {name!r}. There are {', '.join(PLATFORMS)}."
            )
    if not platforms or len(set(platforms)) != len(platforms):
        raise ValueError(f"export: platforms must be named once each, got {tuple(platforms)}.")


def _export_traced(
    traced: Traced,
    platforms: tuple[str, ...],
    disabled_checks: tuple[DisabledSafetyCheck, ...],
    overriding: dict[Primitive, Callable[..., Any]],
) -> Exported:
    version = _calling_convention()
    program, name, partition = traced.jaxpr, traced.fun_name, traced.partition
    if any(map(is_reference, (*program.jaxpr.invars, *program.jaxpr.constvars))):
        raise NotImplementedError(
            f"export: '{name}' takes or closes over a reference, which there is none of where the artifact runs. Read it "
            "before, and return what is to be written."
        )
    program = discharge(program)
    arguments: Shardings = (None,) * len(program.in_avals)
    results: Shardings = (None,) * len(program.out_avals)
    if partition is not None:
        arguments, results = named_shardings(f"export: '{name}'", partition)
        program = program_without_devices(program)
    if program.effects:
        raise NotImplementedError(
            f"export: '{name}' has effects {sorted(map(repr, program.effects))}: serialization of host_callbacks is not yet "
            "implemented, as there is no Python where the artifact runs. Leave these calls out."
        )
    equations = _equations(name, program)
    with for_partitioner(partition), axes_inside(program):
        simplified = run_passes(program, "xla")
    if equations is None:
        kept, simplified = _prune(simplified)
    else:
        # Sizes are found from all arguments.
        kept = tuple(range(len(program.in_avals)))
    spread: Partition | None = None
    if partition is not None:
        mesh = partition.mesh.abstract_mesh
        spread = Partition(mesh, tuple(arguments[i] for i in kept), results)
    artifacts = importlib.import_module("plugjax.stablehlo.artifacts")
    module, targets = artifacts.exported_module(
        dict.fromkeys(platforms, simplified), name, overriding, equations, spread
    )
    check_targets(targets, disabled_checks)
    return Exported(
        fun_name=name,
        in_tree=traced.in_tree,
        in_avals=tuple(program.in_avals),
        out_tree=traced.out_tree,
        out_avals=tuple(program.out_avals),
        in_shardings_hlo=(None,) * len(program.in_avals),
        out_shardings_hlo=(None,) * len(program.out_avals),
        nr_devices=1 if spread is None else spread.mesh.size,
        platforms=platforms,
        ordered_effects=(),
        unordered_effects=(),
        disabled_safety_checks=disabled_checks,
        mlir_module_serialized=module,
        calling_convention_version=version,
        module_kept_var_idx=kept,
        uses_global_constants=len(platforms) > 1 or equations is not None,
        _in_named_shardings=tuple(s if i in kept else None for i, s in enumerate(arguments)),
        _out_named_shardings=results,
        _get_vjp=vjp_of_program(program),
        _program=program,
    )


def _equations(name: str, program: ClosedJaxpr) -> Written | None:
    """How the sizes of a program follow from its arguments, if they are not all known."""
    needed = [d for aval in program.out_avals for d in aval.shape]
    if not any(is_symbolic_dim(d) for aval in program.in_avals for d in aval.shape) and not any(
        map(is_symbolic_dim, needed)
    ):
        return None
    solution = Solution(f"export of '{name}'", program.in_avals, needed)
    symbolic = importlib.import_module("plugjax.stablehlo.symbolic")
    shapes = ", ".join(aval.str_short() for aval in program.in_avals)
    return Written(solution, symbolic.OPERATIONS, symbolic.assertion, f"({shapes})")


def _prune(program: ClosedJaxpr) -> tuple[tuple[int, ...], ClosedJaxpr]:
    """The arguments that a program reads, and the program of these alone."""
    inner = program.jaxpr
    read = {id(v) for eqn in inner.eqns for v in eqn.invars} | {id(v) for v in inner.outvars}
    kept = tuple(i for i, v in enumerate(inner.invars) if id(v) in read)
    invars = [inner.invars[i] for i in kept]
    pruned = Jaxpr(inner.constvars, invars, inner.outvars, inner.eqns, inner.debug_name)
    return kept, ClosedJaxpr(pruned, program.consts)


def vjp_of_program(program: ClosedJaxpr) -> Callable[[Artifact], Exported]:
    """What exports the derivative of a program for the platforms of an exported function."""
    made: list[Exported] = []

    def get(exported: Artifact) -> Exported:
        if not made:
            made.append(_export_vjp(program, exported))
        return made[0]

    return get


def _export_vjp(program: ClosedJaxpr, exported: Artifact) -> Exported:
    count = len(program.in_avals)
    function = jaxpr_as_fun(program)

    def pull_back(*values: Any) -> tuple[Any, ...]:
        _, back = vjp(function, *values[:count])
        found: tuple[Any, ...] = back(list(values[count:]))
        return found

    pull_back.__name__ = f"vjp_{exported.fun_name}"
    tangents = [aval.to_tangent_aval() for aval in program.out_avals]
    arguments, results = exported._in_named_shardings, exported._out_named_shardings
    avals = (*program.in_avals, *tangents)
    specs = [_spec(aval, s) for aval, s in zip(avals, (*arguments, *results), strict=True)]
    return export(
        jit(pull_back, out_shardings=arguments),
        platforms=exported.platforms,
        disabled_checks=exported.disabled_safety_checks,
    )(*specs)


def _spec(aval: ShapedArray, sharding: NamedSharding | None) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding)
