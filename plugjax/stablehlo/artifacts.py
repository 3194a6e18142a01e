"""StableHLO portable artifacts: modules of exported programs, written and merged into other modules.

The calling convention is JAX's: ``main`` takes an index of the platform if the module is for several, and then those
arguments that the program reads; it returns all results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from plugjax.extend.core import ClosedJaxpr, ShapedArray
from plugjax.extend.meshes import Partition
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import ModuleContext, as_symbol
from plugjax.stablehlo.lowering_state import LoweringParameters, Overridden
from plugjax.stablehlo.meshes import adopt_meshes, declare_partition, partition_marks
from plugjax.stablehlo.mlir import Module, Value
from plugjax.stablehlo.symbolic import SizeEquations, Variables, dimension_size

_INDEX = ShapedArray((), "int32")


def exported_module(
    programs: Mapping[str, ClosedJaxpr],
    name: str,
    overriding: Mapping[Any, Callable[..., Any]] | None = None,
    equations: SizeEquations | None = None,
    partition: Partition | None = None,
) -> tuple[bytes, frozenset[str]]:
    """Lower a program for several kinds of hardware to one portable artifact.

    Args:
        programs: the program for each kind, in the order of their indices; all of the same signature.
        name: name of the program.
        overriding: lowering rules by primitive that come before the platform's.
        equations: how sizes that are not known follow from the shapes of the arguments, if there are such.
        partition: how the program is spread over the devices of a mesh, if it is.

    Returns:
        The artifact, and the targets of the custom calls in it.

    Raises:
        LoweringError: a primitive has no lowering; there is no Python where the artifact runs.
        NotImplementedError: an operation has no form for sizes that are not known.
    """
    several = len(programs) > 1
    with (
        mlir.new_module(as_symbol(f"jit_{name}")) as module,
        _sizes(module, equations) as variables,
    ):
        attributes = module.operation.attributes
        attributes["mhlo.num_partitions"] = mlir.attribute("1 : i32")
        attributes["mhlo.num_replicas"] = mlir.attribute("1 : i32")
        uses_constants = several or equations is not None
        attributes["jax.uses_shape_polymorphism"] = mlir.boolean(uses_constants)
        choice = _Choice(programs, overriding, variables, partition)
        if uses_constants:
            choice.write(module, name, equations)
        else:
            ((hardware, program),) = programs.items()
            context = choice.context(module, hardware, name)
            main = context.write_function(program, "main", public=True)
            choice.mark(context, main, [])
        targets = frozenset(_custom_calls(module.operation))
        return mlir.write_artifact(module), targets


@contextmanager
def _sizes(
    module: Module, equations: SizeEquations | Variables | None
) -> Iterator[Variables | None]:
    """While a module is written, sizes may be expressions of these variables."""
    if equations is None:
        yield None
        return
    session = mlir.session()
    session.symbolic = variables = Variables(equations.names, module)
    try:
        yield variables
    finally:
        session.symbolic = None


class _Choice:
    """A ``main`` that computes the program for the platform whose index is its first argument, if there are several."""

    def __init__(
        self,
        programs: Mapping[str, ClosedJaxpr],
        overriding: Mapping[Any, Callable[..., Any]] | None,
        variables: Variables | None,
        partition: Partition | None,
    ) -> None:
        self.programs = programs
        self.overriding = overriding
        self.variables = variables
        self.partition = partition
        # The meshes that the module declares, for all kinds of hardware.
        self.meshes: dict[Any, str] = {}

    def context(self, module: Module, hardware: str, name: str) -> ModuleContext:
        """The context of a module for one kind of hardware."""
        context = ModuleContext(module, "xla", None, hardware)
        context.path, context.hints = (name,), True
        context.variables = self.variables
        if self.overriding:
            context.rules = Overridden(context.rules, self.overriding)
        context.lowering_parameters = LoweringParameters(for_export=True)
        if self.partition is not None:
            context.meshes = self.meshes
            declare_partition(context, self.partition)
        return context

    def mark(self, context: ModuleContext, main: Any, leading: Sequence[Any]) -> None:
        """Say in ``main`` how its arguments and results are spread; ``leading`` are the attributes of other arguments."""
        first = next(iter(self.programs.values()))
        arguments: list[dict[str, Any]] = [{} for _ in first.in_avals]
        if self.partition is not None:
            arguments = partition_marks(context, self.partition.arguments, first.in_avals)
            results = partition_marks(context, self.partition.results, first.out_avals)
            main.attributes["res_attrs"] = mlir.array(list(map(mlir.dictionary, results)))
        if leading or self.partition is not None:
            marks = [*leading, *map(mlir.dictionary, arguments)]
            main.attributes["arg_attrs"] = mlir.array(marks)

    def write(self, module: Module, name: str, equations: SizeEquations | None) -> None:
        first = next(iter(self.programs.values()))
        index = [mlir.type_of(_INDEX)] if len(self.programs) > 1 else []
        types = [mlir.type_of(aval) for aval in first.in_avals]
        results = mlir.plain([mlir.type_of(aval) for aval in first.out_avals])
        main, block = mlir.add_function(module, "main", [*index, *types], results, public=True)
        marked = [mlir.dictionary({"jax.global_constant": mlir.string("_platform_index")})]
        arguments = list(block.arguments)[len(index) :]
        with mlir.at_end(block):
            found: Sequence[Value] = ()
            if equations is not None:
                found = equations.write(lambda i, axis: dimension_size(arguments[i], axis))
            functions, context = self.functions(module, name)
            self.mark(context, main, marked if index else [])
            with nullcontext() if self.variables is None else self.variables.inside(found):
                if len(set(functions)) == 1:
                    values = context.call(functions[0], arguments, results)
                else:
                    values = self.chosen(context, functions, block.arguments[0], arguments, results)
            mlir.op("func.return", [], values)

    def functions(self, module: Module, name: str) -> tuple[list[str], ModuleContext]:
        """The function of each platform; platforms for which the program is the same share one."""
        context: ModuleContext | None = None
        written: dict[bytes, str] = {}
        functions: list[str] = []
        several = len(self.programs) > 1
        for hardware, program in self.programs.items():
            form = self.alone(program, hardware) if several else b""
            if form not in written:
                reserved = context.names if context is not None else []
                context = self.context(module, hardware, "" if several else name)
                context.reserve(reserved)
                written[form] = context.function(program, f"for_{hardware}")
            functions.append(written[form])
        assert context is not None, "there is a platform"
        return functions, context

    @staticmethod
    def chosen(
        context: ModuleContext,
        functions: Sequence[str],
        which: Value,
        arguments: Sequence[Value],
        results: Sequence[Any],
    ) -> list[Value]:
        """The results of the function that an index chooses."""
        choice = mlir.op("stablehlo.case", results, [which], None, len(functions))
        for region, function in zip(choice.regions, functions, strict=True):
            with mlir.at_end(mlir.add_block(region, [])):
                mlir.op("stablehlo.return", [], context.call(function, arguments, results))
        return list(choice.results)

    def alone(self, program: ClosedJaxpr, hardware: str) -> bytes:
        """The program lowered for one kind of hardware, to compare with others."""
        outer, meshes, self.meshes = self.variables, self.meshes, {}
        with mlir.new_module("alone") as module, _sizes(module, outer) as self.variables:
            context = self.context(module, hardware, "")
            context.write_function(program, "alone", public=False)
            found = mlir.bytecode(module)
        self.variables = mlir.session().symbolic = outer
        self.meshes = meshes
        return found


def _call(function: str, operands: Sequence[Value], types: Sequence[Any]) -> list[Value]:
    return list(mlir.op("func.call", types, operands, {"callee": mlir.symbol(function)}).results)


def _custom_calls(operation: Any) -> list[str]:
    found = []
    if operation.name == "stablehlo.custom_call":
        found.append(str(operation.attributes["call_target_name"].value))
    for region in operation.regions:
        for block in region:
            for inner in block:
                found += _custom_calls(inner.operation)
    return found


def artifact_module(data: bytes) -> Module:
    """The module of a portable artifact.

    Raises:
        ValueError: the bytes are no portable artifact, or one of a version that this jaxlib does not read.
    """
    with mlir.new_module("reading"):
        return mlir.read_artifact(data)


def merged(
    context: ModuleContext,
    data: bytes,
    name: str,
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    platform_index: int | None,
    *,
    spread: bool = False,
) -> Callable[[Sequence[Value]], list[Value]]:
    """Add the functions of an artifact to a module; returns a function that writes a call of its ``main``.

    Args:
        context: the module under construction.
        data: the artifact.
        name: of the exported program, for the names of the functions.
        in_avals: avals of the arguments that ``main`` takes; static, also where its own shapes are not.
        out_avals: avals of the results.
        platform_index: what ``main`` takes as its first argument, if it does.
        spread: whether it is for several devices; else what it says of them is left out.

    Raises:
        ValueError: the artifact cannot be read, or its shapes do not follow from those of the arguments.
        NotImplementedError: it says how values are spread in the form of compilers without Shardy.
    """
    added = mlir.read_artifact(data)
    if spread:
        _check_form(name, added)
    wanted = [mlir.type_of(aval) for aval in in_avals]
    results = [mlir.type_of(aval) for aval in out_avals]
    functions = [op.operation for op in added.body.operations]
    main = next(op for op in functions if op.name == "func.func" and _name(op) == "main")
    inputs, outputs = mlir.function_types(main)
    expected = wanted if platform_index is None else [mlir.type_of(_INDEX), *wanted]
    if len(inputs) != len(expected) or len(outputs) != len(results):
        raise ValueError(
            f"the module of {name!r} takes {len(inputs)} arguments and gives {len(outputs)} results, and the artifact says "
            f"{len(expected)} and {len(results)}."
        )
    if expected != inputs or results != outputs:
        added = _static(added, main, wanted, results, platform_index)
        platform_index = None
        functions = [op.operation for op in added.body.operations]
    renamed = {
        _name(op): context.unique_name(f"call_exported_{name}_{_name(op)}")
        for op in functions
        if op.name == "func.func"
    }
    mlir.rename_symbols(added, renamed)
    if spread:
        adopt_meshes(context, added)
    for op in functions:
        if op.name == "func.func":
            op.attributes["sym_visibility"] = mlir.string("private")
            if not spread:
                _without_requests(op)
            if not spread or _name(op) == renamed["main"]:
                # The call says how arguments and results are spread.
                _without_marks(op)
            mlir.move_to_end(op, context.module)
    function = renamed["main"]

    def call(operands: Sequence[Value]) -> list[Value]:
        if platform_index is not None:
            operands = [mlir.constant(np.int32(platform_index)), *operands]
        return _call(function, operands, results)

    return call


def _check_form(name: str, added: Module) -> None:
    attributes = added.operation.attributes
    found = "mhlo.frontend_attributes"
    if found in attributes and "xla.sdy.meshes" in mlir.entries(attributes[found]):
        # XLA ends the process when such a module is a part of another one.
        raise NotImplementedError(
            f"Exported.call: the module of {name!r} says how values are spread in the form of compilers without Shardy. Export it again "
            "with a JAX whose backend has it, as that of CPUs."
        )


def _static(
    added: Module,
    main: Any,
    wanted: Sequence[Any],
    results: Sequence[Any],
    platform_index: int | None,
) -> Module:
    """The module with a ``main`` of static types, and all shapes in it refined to what follows from these."""
    inputs, outputs = mlir.function_types(main)
    mlir.rename_symbols(added, {"main": "_polymorphic_main"})
    main.attributes["sym_visibility"] = mlir.string("private")
    _, block = mlir.add_function(added, "main", wanted, results, public=True)
    with mlir.at_end(block):
        operands = list(block.arguments)
        if platform_index is not None:
            operands.insert(0, mlir.constant(np.int32(platform_index)))
        converted = [_converted(x, t) for x, t in zip(operands, inputs, strict=True)]
        found = _call("_polymorphic_main", converted, outputs)
        mlir.op("func.return", [], [_converted(x, t) for x, t in zip(found, results, strict=True)])
    return mlir.refine_shapes(added)


def _converted(value: Value, wanted: Any) -> Value:
    return value if value.type == wanted else mlir.op("stablehlo.convert", [wanted], [value]).result


def _name(op: Any) -> str:
    return str(op.attributes["sym_name"].value)


def _without_marks(function: Any) -> None:
    for name in ("arg_attrs", "res_attrs"):
        if name in function.attributes:
            del function.attributes[name]


def _without_requests(operation: Any) -> None:
    """Leave out how values are spread over devices: there is one."""
    for region in operation.regions:
        for block in region:
            for inner in list(block):
                op = inner.operation
                if op.name == "sdy.sharding_constraint":
                    op.result.replace_all_uses_with(op.operands[0])
                    op.erase()
                else:
                    _without_requests(op)
