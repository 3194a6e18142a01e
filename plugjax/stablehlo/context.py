"""Context of a lowering rule: the module under construction and the current equation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from plugjax.extend import registry
from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive, ShapedArray, Var
from plugjax.extend.dtypes import DType
from plugjax.extend.errors import LoweringError
from plugjax.extend.meshes import Partition
from plugjax.extend.rules import lowering
from plugjax.extend.transforms import NO_MARKS, marks_of
from plugjax.stablehlo import mlir
from plugjax.stablehlo.hints import mark
from plugjax.stablehlo.host_call import HostCall, described, host_call
from plugjax.stablehlo.lowering_state import (
    AxisContext,
    LoweringParameters,
    ShapePolyLoweringState,
    ShardingContext,
    SPMDAxisContext,
)
from plugjax.stablehlo.mlir import Attribute, Module, Value
from plugjax.stablehlo.symbolic import Variables

# (ctx, index, host_call, operands) -> values: writes the operation that calls Python on this
# backend.
EmitHostCall = Callable[["EqnContext", int, HostCall, Sequence[Value]], Sequence[Value]]

# Positions and values of arguments of a call that are small constant arrays.
Known: TypeAlias = tuple[tuple[int, Attribute], ...]


class LoweringRules(Protocol):
    """Lowering rules by primitive."""

    def get(self, primitive: Primitive, /) -> Callable[..., Any] | None:
        """The declared rule of a primitive."""

    def find(self, primitive: Primitive, /) -> Callable[..., Any] | None:
        """The declared or derived rule of a primitive."""


class ModuleContext:
    """A module under construction.

    Attributes:
        platform: whose lowering rules are used.
        device_kind: the hardware of the target device, if known.
        module: the ``ir.Module``.
        host_calls: calls to Python, by index.
        locations: whether operations carry the user's lines.
        hints: whether operations carry what the user tells XLA's compiler.
        rules: the lowering rules.
        partition: how the program is spread over devices, if it is.
        kept: objects that the compiler calls, which live as long as it compiles.
        meshes: names of the meshes that it declares.
        sharding_groups: how many groups of values that are spread alike it has.
        manual_axes: by name, the mesh of each axis along which the program under construction is that of one device.
        variables: those of sizes that are not known, if there are any; private functions take them first.
        devices: how many run the program together.
        lowering_parameters: how the program is lowered.
        path: names of the enclosing functions, outermost first.
    """

    __slots__ = (
        "_names",
        "device_kind",
        "devices",
        "emit_host_call",
        "functions",
        "hints",
        "host_calls",
        "imported",
        "kept",
        "locations",
        "lowering_parameters",
        "manual_axes",
        "meshes",
        "module",
        "partition",
        "path",
        "platform",
        "rules",
        "sharding_groups",
        "variables",
    )

    def __init__(
        self,
        module: Module,
        platform: str,
        emit_host_call: EmitHostCall | None,
        device_kind: str = "",
    ) -> None:
        self.module = module
        self.platform = platform
        self.device_kind = device_kind
        self.locations = self.hints = False
        self.variables: Variables | None = None
        self.devices = 1
        self.lowering_parameters = LoweringParameters()
        self.partition: Partition | None = None
        self.kept: list[Any] = []
        self.path: tuple[str, ...] = ()
        self.emit_host_call = emit_host_call
        self.host_calls: list[HostCall] = []
        self.rules: LoweringRules = registry.table(lowering, platform)
        # Keyed by the program, which compares by identity, and the arguments that are known: one function for each.
        self.functions: dict[tuple[ClosedJaxpr, Known], str] = {}
        # What writes a call of a module of another program that was added to this one, by a key of the rule's own.
        self.imported: dict[Any, Callable[[Sequence[Value]], list[Value]]] = {}
        # Names of meshes that were declared.
        self.meshes: dict[Any, str] = {}
        self.sharding_groups = 0
        # Axes of a mesh along which the program under construction is that of one device, with the mesh.
        self.manual_axes: dict[Any, Any] = {}
        self._names: dict[str, int] = {"main": 1}

    def unique_name(self, name: str) -> str:
        """A symbol made from ``name``, with a number if it is taken."""
        name = unused = as_symbol(name)
        count = self._names.get(name, 0)
        while unused in self._names:
            unused = f"{name}_{count}"
            count += 1
        self._names[name] = max(count, 1)
        self._names.setdefault(unused, 1)
        return unused

    @property
    def platforms(self) -> tuple[str, ...]:
        """The hardware that the module is for, by JAX's name."""
        return (self.device_kind or "cpu",)

    @property
    def axis_context(self) -> AxisContext:
        """Whether the program under construction is that of one device, along which axes, or that of whole arrays."""
        if not self.manual_axes:
            return ShardingContext(self.devices)
        *_, mesh = self.manual_axes.values()
        return SPMDAxisContext(mesh, frozenset(self.manual_axes))

    @property
    def shape_poly_state(self) -> ShapePolyLoweringState:
        """The sizes that are not known."""
        names = () if self.variables is None else self.variables.names
        return ShapePolyLoweringState(names, self.platforms)

    @property
    def context(self) -> Any:
        """The MLIR context."""
        return self.module.context

    @property
    def names(self) -> list[str]:
        """The names of functions that are taken."""
        return list(self._names)

    def reserve(self, names: Iterable[str]) -> None:
        """Reserve names for functions that are written elsewhere."""
        self._names.update(dict.fromkeys(names, 1))

    def function(self, jaxpr: ClosedJaxpr, name: str, known: Known = ()) -> str:
        """Name of the private function that computes ``jaxpr``, written on first use.

        Args:
            jaxpr: the program.
            name: of the function, unless it is taken.
            known: positions and values of arguments that the function writes itself; it does not take them.
        """
        found = self.functions.get((jaxpr, known))
        if found is None:
            found = self.functions[jaxpr, known] = self.unique_name(name)
            outer, self.path = self.path, (*self.path, name)
            self.write_function(jaxpr, found, known, public=False)
            self.path = outer
        return found

    def location(self, eqn: JaxprEqn) -> Any:
        """Within the block, operations carry the location of an equation."""
        source = eqn.source
        scopes = source.scopes if source is not None else ()
        name = "/".join((*self.path, *scopes, eqn.primitive.name))
        return mlir.named_location(name, source)

    def write_function(
        self, jaxpr: ClosedJaxpr, name: str, known: Known = (), *, public: bool
    ) -> Any:
        """Write a function that computes ``jaxpr``; returns the operation."""
        written = dict(known)
        taken = [v for i, v in enumerate(jaxpr.jaxpr.invars) if i not in written]
        types = [mlir.type_of(v.aval) for v in taken]
        results = [mlir.type_of(v.aval) for v in jaxpr.jaxpr.outvars]
        variables = None if public else self.variables
        if variables is not None:
            types = [*variables.types, *types]
        function, block = mlir.add_function(self.module, name, types, results, public=public)
        with mlir.at_end(block):
            if variables is None:
                operands = with_known(written, block.arguments)
                mlir.op("func.return", [], self.inline(jaxpr, operands))
            else:
                function.attributes["arg_attrs"] = variables.marks(len(taken))
                count = len(variables.names)
                with variables.inside(block.arguments[:count]):
                    operands = with_known(written, block.arguments[count:])
                    mlir.op("func.return", [], self.inline(jaxpr, operands))
        return function

    def call(
        self, function: str, operands: Sequence[Value], types: Sequence[mlir.Type]
    ) -> list[Value]:
        """Call a private function that was written here."""
        if self.variables is not None:
            operands = [*self.variables.operands, *operands]
        call = mlir.op("func.call", mlir.plain(types), operands, {"callee": mlir.symbol(function)})
        return list(call.results)

    def inline(self, jaxpr: ClosedJaxpr, operands: Sequence[Value]) -> list[Value]:
        """Write the equations of a program at the insertion point; returns its outputs."""
        return _Writer(self).write(jaxpr.jaxpr, jaxpr.consts, operands)


def known_arguments(operands: Sequence[Value]) -> Known:
    """The arguments that a function writes itself.

    A compiler that sees a loop's constant outside of the function with the loop may carry it through the loop, and two functions that
    compute the same then differ.
    """
    found = ((i, mlir.small_array(x)) for i, x in enumerate(operands))
    return tuple((i, values) for i, values in found if values is not None)


def with_known(known: Mapping[int, Attribute], arguments: Sequence[Value]) -> list[Value]:
    """All arguments of a function, of which some are written here."""
    if not known:
        return list(arguments)
    taken = iter(arguments)
    count = len(known) + len(arguments)
    return [mlir.constant_of(known[i]) if i in known else next(taken) for i in range(count)]


def as_symbol(name: str) -> str:
    """A name as a symbol that needs no quotes."""
    return re.sub(r"\W+", "_", name).strip("_") or "f"


class _Writer:
    """Writes the equations of one program into one block."""

    __slots__ = ("literals", "module")

    def __init__(self, module: ModuleContext) -> None:
        self.module = module
        # Cached for this block only: an operation in a region should not use constants from outside
        # of it.
        self.literals: dict[Any, Value] = {}

    def write(self, jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Value]) -> list[Value]:
        env: dict[Var, Value] = dict(zip(jaxpr.invars, operands, strict=True))
        for var, constant in zip(jaxpr.constvars, consts, strict=True):
            env[var] = mlir.constant(_host_value(constant, var.aval))
        module = self.module
        rules = module.rules
        literal = self.literal
        for eqn in jaxpr.eqns:
            values = [literal(v) if type(v) is Literal else env[v] for v in eqn.invars]
            rule = rules.get(eqn.primitive)
            ctx = EqnContext(module, eqn)
            if rule is None:
                rule = rules.find(eqn.primitive) or _call_host
            if module.locations:
                with module.location(eqn):
                    result = rule(ctx, *values, **eqn.params)
            else:
                result = rule(ctx, *values, **eqn.params)
            if type(result) is list or type(result) is tuple:
                env.update(zip(eqn.outvars, result, strict=True))
            else:
                env[eqn.outvars[0]] = result
            if module.hints and (marks := marks_of(eqn.source)) is not NO_MARKS:
                mark([env[v] for v in eqn.outvars], marks)
        outvars: list[Any] = jaxpr.outvars
        return [literal(v) if type(v) is Literal else env[v] for v in outvars]

    def literal(self, atom: Literal) -> Value:
        array = np.asarray(atom.val, atom.aval.dtype)
        key = (array.dtype, array.tobytes(), atom.aval.shape)
        found = self.literals.get(key)
        if found is None:
            found = self.literals[key] = mlir.constant(array)
        return found


class EqnContext:
    """The equation under lowering.

    Attributes:
        module: the module under construction.
        eqn: the equation.
    """

    __slots__ = ("eqn", "module")

    def __init__(self, module: ModuleContext, eqn: JaxprEqn) -> None:
        self.module = module
        self.eqn = eqn

    @property
    def primitive(self) -> Primitive:
        """The primitive."""
        return self.eqn.primitive

    @property
    def platform(self) -> str:
        """The platform that the module is for."""
        return self.module.platform

    @property
    def module_context(self) -> ModuleContext:
        """The module under construction, by JAX's name."""
        return self.module

    @property
    def avals_in(self) -> list[ShapedArray]:
        """Avals of the operands."""
        return [v.aval for v in self.eqn.invars]

    @property
    def avals_out(self) -> list[ShapedArray]:
        """Avals of the results."""
        return [v.aval for v in self.eqn.outvars]

    def is_forward_compat(self) -> bool:
        """Whether the module is for readers of an earlier version, as an export is."""
        asked = self.module.lowering_parameters
        return asked.for_export and not asked.export_ignore_forward_compatibility

    def constant(self, value: Any, aval: ShapedArray) -> Value:
        """A number, repeated in the shape and dtype of ``aval``."""
        return mlir.constant(np.asarray(value, aval.dtype), aval.shape)

    def scalar(self, value: Any, dtype: DType) -> Value:
        """A number of rank 0."""
        return mlir.constant(np.asarray(value, dtype))

    def size(self, size: Any, dtype: DType) -> Value:
        """The size of an axis as a number of rank 0."""
        return mlir.size(size, dtype)

    def broadcast(self, value: Value, aval_from: ShapedArray, aval_to: ShapedArray) -> Value:
        """Stretch a scalar, or the axes of size 1 of an operand of equal rank."""
        return mlir.broadcast(value, aval_from, aval_to)

    def call(self, jaxpr: ClosedJaxpr, operands: Sequence[Value], name: str = "") -> list[Value]:
        """Call a program: each distinct one is written once per module, as a private function."""
        known = known_arguments(operands)
        function = self.module.function(
            jaxpr, name or jaxpr.jaxpr.debug_name or self.primitive.name, known
        )
        if known:
            written = dict(known)
            operands = [x for i, x in enumerate(operands) if i not in written]
        return self.module.call(
            function, operands, [mlir.type_of(v.aval) for v in jaxpr.jaxpr.outvars]
        )

    def inline(self, jaxpr: ClosedJaxpr, operands: Sequence[Value]) -> list[Value]:
        """Write the equations of a program here, for bodies of loops and branches."""
        return self.module.inline(jaxpr, operands)

    def host_call(self, call: HostCall, operands: Sequence[Value]) -> list[Value]:
        """Call Python by the backend's mechanism.

        Raises:
            LoweringError: the backend has none.
        """
        module = self.module
        if module.emit_host_call is None:
            raise _no_python(call.name, call.in_avals, module.platform)
        index = len(module.host_calls)
        module.host_calls.append(call)
        return list(module.emit_host_call(self, index, call, operands))


def _no_python(name: str, avals: Sequence[ShapedArray], platform: str) -> LoweringError:
    return LoweringError(
        f"primitive '{name}' ({described(avals)}) has no lowering on platform '{platform}' and needs a call to Python, "
        f"which the program cannot contain here. Supply a lowering: @rules.define(lowering, {name}_p)."
    )


def _call_host(ctx: EqnContext, *operands: Value, **_: Any) -> list[Value]:
    if ctx.module.emit_host_call is None:
        raise _no_python(ctx.primitive.name, ctx.avals_in, ctx.platform)
    return ctx.host_call(host_call(ctx.eqn, ctx.platform), operands)


def _host_value(constant: Any, aval: ShapedArray) -> np.ndarray[Any, Any]:
    """A constant of a program as a NumPy array of its aval's dtype."""
    return np.asarray(constant).astype(aval.dtype, copy=False)
