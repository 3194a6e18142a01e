"""Staging: run a function on tracers and write down what it does, as a jaxpr.

Every primitive bound while a :class:`StagingTrace` is current becomes an equation, constants included, so that a program
means the same whether its inputs are known or not. Values that are not the trace's own become constants: scalars stand
in the equation as literals, arrays and the tracers of enclosing traces become constvars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.core import caches, registry
from plugjax.core.array import Array, as_array, aval_of
from plugjax.core.aval import AbstractReference, ShapedArray
from plugjax.core.config import config
from plugjax.core.dtypes import ExtendedDType
from plugjax.core.effects import effects_rule, jaxpr_effects, no_effects
from plugjax.core.errors import UnexpectedTracerError
from plugjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from plugjax.core.primitive import Primitive, Trace, Tracer, state
from plugjax.core.rules import RuleKind, abstract_eval
from plugjax.core.source_info import user_source
from plugjax.meshes.types import with_spreads
from plugjax.transforms.enclosing import source_with_enclosing
from plugjax.transforms.ending import ends_trace
from plugjax.transforms.varying import with_varying

stage_rule: RuleKind[
    Callable[[Sequence[Any], dict[str, Any]], tuple[Sequence[Any], dict[str, Any]]]
] = RuleKind(
    "stage",
    "(args, params) -> (args, params): what a call is written down with, Python functions made programs",
)

opened_rule: RuleKind[Callable[..., Sequence[Any] | None]] = RuleKind(
    "opened",
    "(trace, args, **params) -> results of an operation on mutable values, computed while a function is staged; None for other operands",
)


class StagingTracer(Tracer):
    """A variable of the program being written."""

    __slots__ = ("_var",)

    def __init__(self, trace: StagingTrace, var: Var) -> None:
        self._trace = trace
        self.aval = var.aval
        self._var = var

    def __repr__(self) -> str:
        trace = self._trace
        shown = trace.shown(self) if isinstance(trace, StagingTrace) else None
        return super().__repr__() if shown is None else shown

    def __bool__(self) -> bool:
        trace = self._trace
        truth = trace.truth(self) if isinstance(trace, StagingTrace) else None
        return super().__bool__() if truth is None else truth

    def _origin(self) -> str:
        trace = self._trace
        if isinstance(trace, StagingTrace):
            for eqn in trace.eqns:
                if self._var in eqn.outvars:
                    return (
                        f"The tracer was made by primitive '{eqn.primitive.name}' at {eqn.source}, "
                        f"while tracing {trace.origin}."
                    )
            for path, var in zip(trace.paths, trace.invars, strict=False):
                if var is self._var:
                    return f"The tracer is the argument {path} of {trace.origin}."
        return f"The tracer was made while tracing {trace.origin}."


def no_references(name: str, avals: Sequence[Any]) -> str:
    """What is said of a primitive of arrays that was given a reference."""
    return (
        f"{name} requires ndarray or scalar arguments, got a reference among its operands "
        f"({', '.join(map(str, avals))}). Read a reference by indexing: ref[...] is its array."
    )


_avals = caches.new_cache()


def known_avals() -> dict[Any, Any]:
    """Results of abstract evaluation by primitive, operands and parameters, under the configuration and rules in force."""
    found: dict[Any, Any] = _avals.setdefault(config.fingerprint, {})
    return found


class StagingTrace(Trace):
    """Writes equations."""

    __slots__ = (
        "avals",
        "constants",
        "effects",
        "eqns",
        "invars",
        "locating",
        "opened",
        "openers",
        "paths",
        "rules",
        "stagers",
    )

    def __init__(self, origin: str) -> None:
        super().__init__(origin)
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.paths: Sequence[str] = ()
        # id of the value -> (variable, value); holding the value keeps the id from being used again.
        self.constants: dict[int, tuple[Var, Any]] = {}
        self.rules = registry.table(abstract_eval)
        self.avals = known_avals()
        self.locating = config.observes("equations")
        self.effects = registry.table(effects_rule)
        self.stagers = registry.table(stage_rule)
        self.openers = registry.table(opened_rule)
        # id of a mutable value -> (the value, what stands in for it).
        self.opened: dict[int, tuple[Any, Any]] = {}

    def new_input(self, aval: ShapedArray) -> StagingTracer:
        """A tracer for one more input of the program."""
        var = Var(aval)
        self.invars.append(var)
        return StagingTracer(self, var)

    def shown(self, tracer: StagingTracer) -> str | None:
        """What is printed for a value that is known although it is traced."""
        return None

    def truth(self, tracer: StagingTracer) -> bool | None:
        """Whether a value is true that is known although it is traced."""
        return None

    def atom(self, x: Any) -> Atom:
        """What stands in an equation for an operand."""
        if type(x) is StagingTracer and x._trace is self:
            return x._var
        if type(x) is not Array:
            if isinstance(x, np.generic):
                return Literal(x, ShapedArray((), x.dtype))
            if isinstance(x, Tracer):
                if not x._trace.alive:
                    raise UnexpectedTracerError(x)
            else:
                x = as_array(x)
        if type(x) is Array and not x.aval.shape and not isinstance(x.aval.dtype, ExtendedDType):
            # A weak scalar stays an Array: a NumPy scalar could not say that it is weak.
            return Literal(x if x.aval.weak_type else np.asarray(x._fetch())[()], x.aval)
        found = self.constants.get(id(x))
        if found is None:
            found = self.constants[id(x)] = (Var(aval_of(x)), x)
        return found[0]

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Write an equation."""
        if primitive.structured:
            opener = self.openers.get(primitive)
            if opener is not None:
                computed = opener(self, args, **params)
                if computed is not None:
                    return computed
            stager = self.stagers.get(primitive)
            if stager is not None:
                args, params = stager(args, params)
        invars: list[Any] = []
        for x in args:
            if type(x) is StagingTracer and x._trace is self:
                invars.append(x._var)
            else:
                invars.append(self.atom(x))
        multiple = primitive.multiple_results
        if primitive.structured:
            result = self.rules[primitive](*[v.aval for v in invars], **params)
            if state.axes:
                result = with_varying(primitive, [v.aval for v in invars], params, result)
            if ShapedArray.spreading:
                result = with_spreads(primitive, [v.aval for v in invars], params, result)
            found = jaxpr_effects(params)
        else:
            key = (primitive, *[v.aval for v in invars], *params.items())
            result = self.avals.get(key)
            if result is None:
                avals = [v.aval for v in invars]
                if any(isinstance(aval, AbstractReference) for aval in avals):
                    raise TypeError(no_references(primitive.name, avals))
                result = self.rules[primitive](*avals, **params)
                if state.axes:
                    result = with_varying(primitive, avals, params, result)
                if ShapedArray.spreading:
                    result = with_spreads(primitive, avals, params, result)
                self.avals[key] = result
            found = no_effects
        effect = self.effects.get(primitive)
        if effect is not None:
            found |= effect(**params)
        outvars = [Var(aval) for aval in result] if multiple else [Var(result)]
        source = state.source or user_source(2)
        if self.locating:
            source = source_with_enclosing(source, _stage_code)
        self.eqns.append(JaxprEqn(invars, outvars, primitive, params, found, source))
        if multiple:
            return [StagingTracer(self, v) for v in outvars]
        return StagingTracer(self, outvars[0])

    def close(self, outputs: Sequence[Any]) -> ClosedJaxpr:
        """The program with the given outputs."""
        outvars = [self.atom(x) for x in outputs]
        constants = list(self.constants.values())
        jaxpr = Jaxpr([v for v, _ in constants], self.invars, outvars, self.eqns, self.origin)
        return ClosedJaxpr(jaxpr, [value for _, value in constants])


@ends_trace
def stage(
    function: Callable[..., Sequence[Any]],
    in_avals: Sequence[ShapedArray],
    origin: str = "a function",
    paths: Sequence[str] = (),
    trace_type: Callable[[str], StagingTrace] = StagingTrace,
) -> ClosedJaxpr:
    """Trace ``function``, which takes and gives flat sequences, to a closed jaxpr.

    Args:
        function: called with one tracer per aval; returns a sequence of outputs.
        in_avals: avals of the inputs.
        origin: what is being traced, for messages.
        paths: names of the inputs, for messages.
        trace_type: what writes.

    Returns:
        The program. Its constants may hold tracers of enclosing traces.
    """
    trace = trace_type(origin)
    trace.paths = paths
    tracers = [trace.new_input(aval) for aval in in_avals]
    previous, source = state.trace, state.source
    state.trace, state.source = trace, None
    try:
        outputs = function(*tracers)
        return trace.close(outputs)
    finally:
        state.trace, state.source = previous, source
        trace.finish()


_stage_code = stage.__wrapped__.__code__  # type: ignore[attr-defined]  # functools.wraps sets it


def has_tracers(jaxpr: ClosedJaxpr) -> bool:
    """Whether constants of the program are tracers: such a program belongs to one call only."""
    return any(isinstance(value, Tracer) and not value._trace.lasting for value in jaxpr.consts)


def open_constants(jaxpr: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """The program with all constants as leading inputs, and their values."""
    if not jaxpr.consts:
        return jaxpr, []
    inner = jaxpr.jaxpr
    opened = Jaxpr(
        [], [*inner.constvars, *inner.invars], inner.outvars, inner.eqns, inner.debug_name
    )
    return ClosedJaxpr(opened), list(jaxpr.consts)
