"""The evaluator: the outermost trace, which runs primitives on arrays.

The hot path is one dict look-up and one call. The key holds the primitive, where its operands live, their avals and the
parameters; the entry is a closure made on first use, which knows the kernel and the output avals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import caches, registry
from plugjax.core.array import Array, constant, default_placement, transfer
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.device import Placement, common_placement
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, Var, new_eqn, programs_in
from plugjax.core.primitive import Primitive, Trace, set_base, state
from plugjax.execution.compile import compiled_call
from plugjax.execution.host_kernels import Entry, host_entry, host_kernel, output_avals
from plugjax.execution.instruments import instrumented
from plugjax.execution.operator_programs import NotingTrace, can_note
from plugjax.transforms.expansion import Kept, computed, expand_rule


class EvalTrace(Trace):
    """Runs primitives at once."""

    __slots__ = ("entries", "operators")

    def __init__(self) -> None:
        super().__init__("the evaluator")
        self.entries = caches.new_cache()
        self.operators: caches.Cache = caches.new_cache()

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Run ``primitive`` on arrays."""
        try:
            if len(args) == 1:
                x = args[0]
                key: Any = (primitive, x._placement, x.aval)
            elif len(args) == 2:
                x, y = args
                key = (primitive, x._placement, x.aval, y._placement, y.aval)
            else:
                key = (primitive, *[(x._placement, x.aval) for x in args])
            if params:
                key = (key, *params.items())
            entry = self.entries[key]
        except (AttributeError, KeyError):
            # Prepare outside the `except`: errors must not be chained to the KeyError.
            entry = None
        return self._prepare(primitive, args, params) if entry is None else entry(args)

    def operate(self, key: Any, general: Callable[..., Any], *operands: Any) -> Any:
        """Run an operator, and cache its program for operands of these avals and placements."""
        if len(operands) > 1:
            # `x * x` must be seen to read both of its operands.
            first, *rest = operands
            operands = (first, *[x._alias() if x is first else x for x in rest])
        if not can_note(operands) or config.observes("equations") or config.observes("operators"):
            return general(*operands)
        noting = NotingTrace(self, operands)
        state.trace = noting
        try:
            result = general(*operands)
        finally:
            state.trace = self
        self.operators[key] = noting.program(general, result)
        return result

    def _prepare(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if primitive.structured:
            expand = registry.table(expand_rule).get(primitive)
            callee = None if expand is None else expand(**params)
            if callee is not None and not isinstance(callee, Kept):
                return computed(callee, args)
        given = [x._placement for x in args if type(x) is Array]
        chosen = common_placement(given, primitive.name) or default_placement()
        arrays = [x if type(x) is Array else constant(x, chosen) for x in args]
        if any(x._placement is not chosen for x in arrays):
            return self.process(primitive, [transfer(x, chosen) for x in arrays], params)
        if self is not (current := evaluator()):
            # The configuration was changed by another thread since this thread last looked.
            state.trace = current
            return current._prepare(primitive, arrays, params)
        program = next(programs_in(params), None) if primitive.structured else None
        if program is not None:
            key = (EvalTrace, self, self._key(primitive, arrays, params, chosen))
            entries = program.memo
        else:
            key = self._key(primitive, arrays, params, chosen)
            entries = self.entries
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = make_entry(primitive, [x.aval for x in arrays], params, chosen)
        return entry(arrays)

    def _key(
        self, primitive: Primitive, arrays: list[Array], params: dict[str, Any], chosen: Placement
    ) -> Any:
        key: Any
        if len(arrays) == 1:
            key = (primitive, chosen, arrays[0].aval)
        elif len(arrays) == 2:
            key = (primitive, chosen, arrays[0].aval, chosen, arrays[1].aval)
        elif arrays:
            key = (primitive, *[(chosen, x.aval) for x in arrays])
        else:
            # Nothing in the key says where the result goes, so default placement must.
            key = (primitive, chosen)
        return (key, *params.items()) if params else key


def make_entry(
    primitive: Primitive, avals: list[ShapedArray], params: dict[str, Any], placement: Placement
) -> Entry:
    """A closure that runs a primitive on arrays of given avals at a placement."""
    out_avals = output_avals(primitive, avals, params)

    def program() -> ClosedJaxpr:
        return single_equation(primitive, avals, params, out_avals)

    kernel = host_kernel(primitive, avals, out_avals, params, placement)
    if kernel is not None:
        entry = host_entry(kernel, out_avals, placement, primitive.multiple_results, len(avals))
        return instrumented(entry, program)
    run = instrumented(compiled_call(program(), placement, {"name": primitive.name}), program)
    if primitive.multiple_results:
        return run
    return lambda arrays: run(arrays)[0]


def single_equation(
    primitive: Primitive,
    avals: list[ShapedArray],
    params: dict[str, Any],
    out_avals: list[ShapedArray],
) -> ClosedJaxpr:
    """The program that consists of one equation."""
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in out_avals]
    eqn = new_eqn(list(invars), outvars, primitive, params)
    return ClosedJaxpr(Jaxpr([], invars, outvars, [eqn], primitive.name))


_evaluators: dict[Any, EvalTrace] = {}


def evaluator() -> EvalTrace:
    """The evaluator for the configuration in force: options that change what an entry does have one each."""
    key = config.fingerprint
    found = _evaluators.get(key)
    if found is None:
        found = _evaluators.setdefault(key, EvalTrace())
    return found


def _follow_config() -> None:
    if isinstance(state.trace, EvalTrace):
        state.trace = evaluator()


config.listeners.append(_follow_config)
set_base(evaluator)
