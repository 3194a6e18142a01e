"""From a jaxpr to a StableHLO module."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from plugjax import monitoring
from plugjax.extend.core import ClosedJaxpr, ShapedArray
from plugjax.extend.meshes import AbstractMesh, Mesh, Partition
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EmitHostCall, LoweringRules, ModuleContext, as_symbol
from plugjax.stablehlo.host_call import HostCall
from plugjax.stablehlo.lowering_state import LoweringParameters, Overridden
from plugjax.stablehlo.meshes import declare_partition, partition_marks
from plugjax.stablehlo.mlir import Module
from plugjax.stablehlo.ordering import with_order


@dataclass(frozen=True, eq=False)
class LoweredModule:
    """A program as StableHLO.

    Attributes:
        module: the ``ir.Module``; its public function is ``main``.
        host_calls: calls to Python, by the indices passed to the backend's ``emit_host_call``.
        kept: objects that the compiler calls, which live as long as it compiles.
    """

    module: Module
    host_calls: tuple[HostCall, ...]
    kept: tuple[object, ...] = ()

    def as_text(self, *, generic: bool = False, debug_info: bool = False) -> str:
        """The module as text.

        Args:
            generic: in MLIR's generic syntax.
            debug_info: with locations.
        """
        operation = self.module.operation
        return str(operation.get_asm(print_generic_op_form=generic, enable_debug_info=debug_info))

    def bytecode(self) -> bytes:
        """The module as MLIR bytecode, without locations: equal programs give equal bytes."""
        return mlir.bytecode(self.module)


def lower_module(
    jaxpr: ClosedJaxpr,
    platform: str,
    *,
    name: str,
    emit_host_call: EmitHostCall | None = None,
    reused: Mapping[int, int | None] | None = None,
    device_kind: str = "",
    locations: bool = False,
    hints: bool = False,
    rules: LoweringRules | None = None,
    partition: Partition | None = None,
    parameters: LoweringParameters | None = None,
    manual: Mesh | AbstractMesh | None = None,
) -> LoweredModule:
    """Lower a program.

    Args:
        jaxpr: the program, without extended dtypes; its constants are embedded.
        platform: platform of the lowering rules.
        name: name of the module.
        emit_host_call: writes the backend's call to Python; without it, primitives without a lowering are errors.
        reused: for donated arguments, the result that gets their memory, or ``None`` if the compiler chooses.
        device_kind: the hardware of the device, for rules that depend on it.
        locations: whether operations carry the user's lines and scopes; modules of equal programs then differ.
        hints: whether operations carry what the user tells XLA's compiler.
        rules: lowering rules in place of the platform's.
        partition: how the program is spread over devices, if it is.
        parameters: what rules are told, and lowering rules that come before those.
        manual: the mesh of whose devices it is the program of one, if it is.

    Raises:
        LoweringError: a primitive has neither a lowering nor a usable host kernel.
    """
    with _reported(name, platform), mlir.new_module(as_symbol(name)) as module:
        context = ModuleContext(module, platform, emit_host_call, device_kind)
        context.locations, context.hints = locations, hints
        context.rules = rules or context.rules
        context.lowering_parameters = parameters or context.lowering_parameters
        overriding = context.lowering_parameters.override_lowering_rules
        if overriding:
            context.rules = Overridden(context.rules, dict(overriding))
        context.path = (name,)
        if manual is not None:
            context.manual_axes = dict.fromkeys(manual.axis_names, manual)
        if partition is not None:
            declare_partition(context, partition)
        main = context.write_function(with_order(jaxpr), "main", public=True)
        marks = [
            _reuse(reused[i]) if reused and i in reused else {} for i in range(len(jaxpr.in_avals))
        ]
        if partition is not None:
            spread = partition_marks(context, partition.arguments, jaxpr.in_avals)
            marks = [{**mark, **more} for mark, more in zip(marks, spread, strict=True)]
            found = partition_marks(context, partition.results, jaxpr.out_avals)
            main.attributes["res_attrs"] = mlir.array([mlir.dictionary(m) for m in found])
        if any(marks):
            main.attributes["arg_attrs"] = mlir.array([mlir.dictionary(m) for m in marks])
    return LoweredModule(module, tuple(context.host_calls), tuple(context.kept))


@contextmanager
def _reported(name: str, platform: str) -> Iterator[None]:
    """Tell listeners how long the block took, in which a program is lowered."""
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    # A module for XLA is called jit_f, as JAX's are.
    monitoring.record_event_duration_secs(
        monitoring.LOWERED, seconds, fun_name=name.removeprefix("jit_"), platform=platform
    )


def _reuse(result: int | None) -> dict[str, mlir.Attribute]:
    if result is None:
        return {"jax.buffer_donor": mlir.boolean(True)}
    return {"tf.aliasing_output": mlir.attribute(f"{result} : i32")}


def matching_results(jaxpr: ClosedJaxpr, donated: Sequence[int]) -> dict[int, int | None]:
    """For each donated argument the first unclaimed result of its type, or ``None``: then the compiler chooses."""
    free: dict[ShapedArray, list[int]] = {}
    for index, aval in enumerate(jaxpr.out_avals):
        free.setdefault(aval.strip_weak_type(), []).append(index)
    found: dict[int, int | None] = {}
    for argument in donated:
        results = free.get(jaxpr.in_avals[argument].strip_weak_type())
        found[argument] = results.pop(0) if results else None
    return found


def lower_functions(
    programs: Mapping[str, ClosedJaxpr], platform: str, *, name: str
) -> tuple[LoweredModule, dict[str, str]]:
    """Lower several programs to private functions of one module; calls to Python are errors.

    Args:
        programs: programs by name; these names are reserved in the module.
        platform: platform of the lowering rules.
        name: name of the module.

    Returns:
        The module, and by name the function that computes each program.
    """
    functions: dict[str, str] = {}
    with _reported(name, platform), mlir.new_module(as_symbol(name)) as module:
        context = ModuleContext(module, platform, None)
        context.reserve(programs)
        for each, jaxpr in programs.items():
            functions[each] = context.unique_name(f"{each}__body")
            context.write_function(jaxpr, functions[each], public=False)
    return LoweredModule(module, ()), functions
