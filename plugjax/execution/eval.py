"""The evaluator: the outermost trace, which runs primitives on arrays.

The hot path is one dict look-up and one call. One table holds what was prepared: the key is a primitive, an operator or a function,
the avals and placements of its operands, and the parameters; the value is a function of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import caches, registry
from plugjax.core.array import Array, constant, default_placement, transfer
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.device import Placement
from plugjax.core.jaxpr import ClosedJaxpr, programs_in
from plugjax.core.primitive import Primitive, Trace, set_base, state
from plugjax.execution.compile import Compiled
from plugjax.execution.eager_programs import eager_program, single_equation
from plugjax.execution.first_calls import first_on_host
from plugjax.execution.host_kernels import Run, host_kernel, output_avals, run_kernel
from plugjax.execution.instruments import instrumented
from plugjax.execution.partitioned import Partitioned
from plugjax.execution.tiered import tiered
from plugjax.meshes.context import mesh_in_force
from plugjax.meshes.kinds import HOST, common_kind, kind_of, usual
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.partition import Partition
from plugjax.meshes.placements import common_placement
from plugjax.meshes.programs import Place, incompatible, names_mesh, partition_of
from plugjax.meshes.spec import PartitionSpec
from plugjax.transforms.discharge import is_reference, with_references
from plugjax.transforms.expansion import Kept, computed, expand_rule
from plugjax.transforms.high_values import needs_lowering, on_arrays


class EvalTrace(Trace):
    """Runs primitives at once."""

    __slots__ = ("programs",)

    def __init__(self) -> None:
        super().__init__("the evaluator")
        self.programs: caches.Cache = caches.new_cache()

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Run ``primitive`` on arrays."""
        # One operand and two are written out: an unpacked call takes 60 ns more.
        run: Callable[..., Any] | None
        if len(args) == 1:
            x = args[0]
            if type(x) is Array:
                key: Any = (primitive, x.aval, x._placement)
                run = self.programs.get((key, *params.items()) if params else key)
                if run is not None:
                    return run(x)
        elif len(args) == 2:
            x, y = args
            if type(x) is Array and type(y) is Array:
                key = (primitive, x.aval, x._placement, y.aval, y._placement)
                run = self.programs.get((key, *params.items()) if params else key)
                if run is not None:
                    return run(x, y)
        elif all(type(x) is Array for x in args):
            # No operand says where the result goes, so the key does.
            key = (
                (primitive, *[(x.aval, x._placement) for x in args])
                if args
                else (primitive, default_placement())
            )
            run = self.programs.get((key, *params.items()) if params else key)
            if run is not None:
                return run(*args)
        return self._prepare(primitive, args, params)

    def operate(self, key: Any, general: Callable[..., Any], *operands: Any) -> Any:
        """Run an operator or a function, and keep its program for operands of these avals and placements."""
        if config.observes("equations") or config.observes("operators"):
            return general(*operands)
        if self is not (current := evaluator()):
            state.trace = current
            return current.operate(key, general, *operands)
        run = self.programs[key] = eager_program(general, operands) or general
        return run(*operands)

    def _prepare(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if primitive.structured:
            expand = registry.table(expand_rule).get(primitive)
            callee = None if expand is None else expand(**params)
            if callee is not None and not isinstance(callee, Kept):
                return computed(callee, args)
        if any(map(is_reference, args)):
            return with_references(primitive, args, params)
        if needs_lowering(primitive, args, params):
            return on_arrays(primitive, args, params)
        given = [x._placement for x in args if type(x) is Array]
        chosen = usual(common_placement(given, primitive.name) or default_placement())
        if any(kind_of(p.sharding) == HOST for p in given):
            kinds = [kind_of(p.sharding) for p in given]
            common_kind(
                primitive.name, kinds, [x.aval.str_short() for x in args if type(x) is Array]
            )
        if not chosen.several and (mesh := mesh_in_force()) is not None and mesh.size > 1:
            if chosen.committed:
                raise ValueError(incompatible(primitive.name, "an operand", [chosen.device], mesh))
            chosen = NamedSharding(mesh, PartitionSpec()).committed
        arrays = [x if type(x) is Array else constant(x, chosen) for x in args]
        if chosen.several or (primitive.structured and names_mesh(primitive, params)):
            return self._run_partitioned(primitive, arrays, params)
        if any(x._placement is not chosen for x in arrays):
            return self.process(primitive, [transfer(x, chosen) for x in arrays], params)
        if self is not (current := evaluator()):
            # The configuration was changed by another thread since this thread last looked.
            state.trace = current
            return current._prepare(primitive, arrays, params)
        key = self._key(primitive, arrays, params, chosen)
        programs: dict[Any, Any] = self.programs
        callee = next(programs_in(params), None) if primitive.structured else None
        if callee is not None:
            # What runs a program of the user's goes when the program goes.
            key, programs = (EvalTrace, self, key), callee.memo
        run = programs.get(key)
        if run is None:
            run = programs[key] = prepared(primitive, [x.aval for x in arrays], params, chosen)
        return run(*arrays)

    def _run_partitioned(
        self, primitive: Primitive, arrays: list[Array], params: dict[str, Any]
    ) -> Any:
        key: Any = (primitive, *[(x.aval, x._placement) for x in arrays])
        if len(arrays) < 3:
            key = (primitive, *[part for pair in key[1:] for part in pair])
        key = (key, *params.items()) if params else key
        programs: dict[Any, Any] = self.programs
        callee = next(programs_in(params), None) if primitive.structured else None
        if callee is not None:
            key, programs = (EvalTrace, self, key), callee.memo
        run = programs.get(key)
        if run is None:
            run = programs[key] = prepared_partitioned(primitive, arrays, params)
        return run(*arrays)

    def _key(
        self, primitive: Primitive, arrays: list[Array], params: dict[str, Any], chosen: Placement
    ) -> Any:
        key: Any
        if len(arrays) == 1:
            key = (primitive, arrays[0].aval, chosen)
        elif len(arrays) == 2:
            key = (primitive, arrays[0].aval, chosen, arrays[1].aval, chosen)
        elif arrays:
            key = (primitive, *[(x.aval, chosen) for x in arrays])
        else:
            # No operand says where the result goes, so the key does.
            key = (primitive, chosen)
        return (key, *params.items()) if params else key


class TransferringTrace(EvalTrace):
    """The evaluator while transfers are observed: operators make arrays of what comes from the host."""

    __slots__ = ()

    def operate(self, key: Any, general: Callable[..., Any], *operands: Any) -> Any:
        """Run an operator or a function as it is written."""
        return general(*operands)


def prepared(
    primitive: Primitive, avals: list[ShapedArray], params: dict[str, Any], placement: Placement
) -> Run:
    """A function that runs a primitive on arrays of given avals at a placement."""
    out_avals = output_avals(primitive, avals, params)

    def program() -> ClosedJaxpr:
        return single_equation(primitive, avals, params, out_avals)

    kernel = host_kernel(primitive, avals, out_avals, params, placement)
    if kernel is not None:
        run = run_kernel(kernel, out_avals, placement, primitive.multiple_results, len(avals))

        def call(arrays: Sequence[Array]) -> Any:
            return run(*arrays)

        around = instrumented(call, program)
        return run if around is call else lambda *arrays: around(arrays)
    on_host = first_on_host(primitive, program(), placement)
    if on_host is not None:
        observed = instrumented(on_host, program)
        if primitive.multiple_results:
            return lambda *arrays: observed(arrays)
        return lambda *arrays: observed(arrays)[0]

    def compile_now() -> Compiled:
        return Compiled(program(), placement, {"name": primitive.name})

    compiled = tiered(primitive.name, program(), placement, None, compile_now) or compile_now()
    if primitive.multiple_results or compiled.single is None:
        several = instrumented(compiled.call, program)
        if primitive.multiple_results:
            return lambda *arrays: several(arrays)
        return lambda *arrays: several(arrays)[0]
    single = instrumented(compiled.single, program)
    return lambda *arrays: single(arrays)


def prepared_partitioned(
    primitive: Primitive, arrays: Sequence[Array], params: dict[str, Any]
) -> Run:
    """A function that runs a primitive on arrays that are spread over devices as the given ones."""
    avals = [x.aval for x in arrays]
    program = single_equation(primitive, avals, params, output_avals(primitive, avals, params))
    given = [Place(x._placement.sharding, x._placement.committed) for x in arrays]
    open_results: list[None] = [None] * len(program.out_avals)
    partition = partition_of(primitive.name, program, given, [None] * len(given), open_results)
    compiled = Partitioned(program, _known(partition), {"name": primitive.name})
    several = instrumented(compiled.moving(arrays), lambda: program)
    if primitive.multiple_results:
        return lambda *operands: several(operands)
    return lambda *operands: several(operands)[0]


def _known(partition: Partition | None) -> Partition:
    if partition is None:
        raise TypeError("the operands are on one device")
    return partition


_evaluators: dict[Any, EvalTrace] = {}


def evaluator() -> EvalTrace:
    """The evaluator for the configuration in force: options that change what an entry does have one each."""
    kind = TransferringTrace if config.observes("transfers") else EvalTrace
    key = (kind, config.fingerprint)
    found = _evaluators.get(key)
    if found is None:
        found = _evaluators.setdefault(key, kind())
    return found


def _follow_config() -> None:
    if isinstance(state.trace, EvalTrace):
        state.trace = evaluator()


config.listeners.append(_follow_config)
set_base(evaluator)
