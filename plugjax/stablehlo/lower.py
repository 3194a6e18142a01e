"""From a jaxpr to a StableHLO module."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EmitHostCall, ModuleContext, as_symbol
from plugjax.stablehlo.host_call import HostCall
from plugjax.stablehlo.mlir import Module
from plugjax.stablehlo.ordering import with_order


@dataclass(frozen=True, eq=False)
class LoweredModule:
    """A program as StableHLO.

    Attributes:
        module: the ``ir.Module``; its public function is ``main``.
        host_calls: what it calls in Python, by the indices that the backend's ``emit_host_call``
            was given.
    """

    module: Module
    host_calls: tuple[HostCall, ...]

    def as_text(self, *, generic: bool = False, debug_info: bool = False) -> str:
        """The module as text.

        Args:
            generic: without the dialects' own syntax.
            debug_info: with locations.
        """
        operation = self.module.operation
        return str(operation.get_asm(print_generic_op_form=generic, enable_debug_info=debug_info))

    def bytecode(self) -> bytes:
        """The module as MLIR bytecode, without locations: equal programs give equal bytes."""
        stream = io.BytesIO()
        self.module.operation.write_bytecode(stream)
        return stream.getvalue()


def lower_module(
    jaxpr: ClosedJaxpr,
    platform: str,
    *,
    name: str,
    emit_host_call: EmitHostCall | None = None,
    donated: Sequence[int] = (),
    reused: Mapping[int, int] | None = None,
    device_kind: str = "",
    locations: bool = False,
) -> LoweredModule:
    """Lower a program.

    Args:
        jaxpr: the program, without extended dtypes; its constants are embedded.
        platform: whose lowering rules to use, where it has its own.
        name: name of the module.
        emit_host_call: writes the backend's call to Python; without it, primitives without a
            lowering are errors.
        donated: indices of arguments whose memory the results may use.
        reused: which result is written into the memory of which argument; the compiler or the order of the results decides if it
            is not given.
        device_kind: the hardware of the platform's device, for rules that differ between them.
        locations: whether operations know the user's lines and scopes. Modules of equal programs then differ.

    Raises:
        LoweringError: a primitive can neither be lowered nor be run by its host kernel.
    """
    with mlir.new_module(as_symbol(name)) as module:
        context = ModuleContext(module, platform, emit_host_call, device_kind)
        context.locations = locations
        context.path = (name,)
        main = context.write_function(with_order(jaxpr), "main", public=True)
        if reused is not None:
            _mark(main, jaxpr, {i: _result(k) for i, k in reused.items()})
        elif donated:
            _mark_donated(main, jaxpr, donated)
    return LoweredModule(module, tuple(context.host_calls))


def _mark_donated(main: mlir.Operation, jaxpr: ClosedJaxpr, donated: Sequence[int]) -> None:
    """Give each donated argument to a result of its type; without one, the compiler chooses."""
    free: dict[ShapedArray, list[int]] = {}
    for index, aval in enumerate(jaxpr.out_avals):
        free.setdefault(aval.strip_weak_type(), []).append(index)
    marks: dict[int, dict[str, mlir.Attribute]] = {}
    for argument in donated:
        results = free.get(jaxpr.in_avals[argument].strip_weak_type())
        if results:
            marks[argument] = _result(results.pop(0))
        else:
            marks[argument] = {"jax.buffer_donor": mlir.boolean(True)}
    _mark(main, jaxpr, marks)


def _result(index: int) -> dict[str, mlir.Attribute]:
    return {"tf.aliasing_output": mlir.attribute(f"{index} : i32")}


def _mark(
    main: mlir.Operation, jaxpr: ClosedJaxpr, marks: Mapping[int, dict[str, mlir.Attribute]]
) -> None:
    if marks:
        attributes = [mlir.dictionary(marks.get(i, {})) for i in range(len(jaxpr.in_avals))]
        main.attributes["arg_attrs"] = mlir.array(attributes)


def lower_functions(
    programs: Mapping[str, ClosedJaxpr], platform: str, *, name: str
) -> LoweredModule:
    """Lower several programs to private functions of one module; calls to Python are errors.

    Args:
        programs: by the names that the functions get.
        platform: whose lowering rules to use.
        name: name of the module.
    """
    with mlir.new_module(as_symbol(name)) as module:
        context = ModuleContext(module, platform, None)
        for function, jaxpr in programs.items():
            context.write_function(jaxpr, context.unique_name(function), public=False)
    return LoweredModule(module, ())
