"""Linearization: run a function once, and keep its derivative at that point as a linear program.

Every differentiated value is a primal and a *tape* tracer that stands for its tangent. A primitive's jvp rule runs with the
tape's trace current: what it computes from primals alone is done by the parent at once; what involves a tangent is written
on the tape, with the primals that it needs as residuals. The tape is linear in the tangents. Replayed, it is the
derivative; walked backwards (``transpose``), it is the transposed derivative, which is reverse mode. One statement of a
derivative serves both modes.

Invariant: operations on a tape take at least one tape tracer, and their other operands are values of the parent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from plugjax.core import registry
from plugjax.core.array import aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.effects import effects_rule, jaxpr_effects
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, Var, eval_closed, memoise, new_eqn
from plugjax.core.primitive import Primitive, Trace, Tracer, state
from plugjax.core.rules import RuleKind, abstract_eval
from plugjax.core.source_info import Source, user_source
from plugjax.core.vocabulary import zeros
from plugjax.meshes.types import spreads_among, typed_derivative, with_spreads
from plugjax.transforms.discharge import discharge, has_pure_form, with_values
from plugjax.transforms.ending import ends_trace
from plugjax.transforms.expansion import Kept, computed, expand_rule
from plugjax.transforms.jvp import (
    DualTrace,
    DualTracer,
    JvpRule,
    differentiated_references,
    with_zeros,
    zero_tangent,
)
from plugjax.transforms.marks import blocks
from plugjax.transforms.staging import StagingTrace, StagingTracer, known_avals
from plugjax.transforms.varying import with_varying

linearize_rule: RuleKind[JvpRule] = RuleKind(
    "linearize",
    "(primals, tangents, **params) -> (primal, tangent), binding no primitive on primals and tangents together "
    "that is not linear in the tangents",
)


class TransposeRule(Protocol):
    """What cotangents of a linear primitive's results come to for its operands."""

    def __call__(self, cotangents: Any, /, *operands: Any, **params: Any) -> Sequence[Any]:
        """One cotangent or ``None`` per operand. Linear operands are ``UndefinedPrimal``; ``cotangents`` is a list if there are several results."""


transpose_rule: RuleKind[TransposeRule] = RuleKind(
    "transpose",
    "(cotangent or list of them, *operands, **params) -> one cotangent or None per operand; "
    "operands that the primitive is linear in come as UndefinedPrimal",
)


class TapeTracer(Tracer):
    """The tangent of a value: a variable of the linear program on the tape."""

    __slots__ = ("slot",)

    def __init__(self, trace: TapeTrace, aval: ShapedArray) -> None:
        self._trace = trace
        self.aval = aval
        self.slot = trace.slots
        trace.slots += 1


class TapeEqn:
    """One linear operation on the tape; operands are tape tracers or residual values."""

    __slots__ = ("operands", "outs", "params", "primitive", "source")

    def __init__(
        self,
        primitive: Primitive,
        operands: Sequence[Any],
        params: dict[str, Any],
        outs: list[TapeTracer],
        source: Source | None,
    ) -> None:
        self.source = source
        self.primitive = primitive
        self.operands = operands
        self.params = params
        self.outs = outs


class TapeTrace(Trace):
    """Writes operations on tangents down; hands all others to the parent."""

    __slots__ = (
        "avals",
        "eqns",
        "expansions",
        "locating",
        "parent",
        "rules",
        "slots",
        "transposes",
    )

    def __init__(self, parent: Trace) -> None:
        super().__init__("linearize")
        self.parent = parent
        self.eqns: list[TapeEqn] = []
        self.slots = 0
        # Walking the stack for each equation is for those who ask where a nan came from.
        self.locating = config.observes("equations")
        self.rules = registry.table(abstract_eval)
        self.expansions = registry.table(expand_rule)
        self.transposes = registry.table(transpose_rule)
        self.avals = known_avals()

    def finish(self) -> None:
        """Mark the tape as over; that it is kept, to be replayed or transposed, is no leak."""
        self.alive = False

    def source(self) -> Source | None:
        """The user's line whose derivative is being written down, if it is known."""
        return state.source or (user_source(3) if self.locating or blocks.open else None)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Write the operation down if it involves a tangent."""
        for x in args:
            if type(x) is TapeTracer and x._trace is self:
                break
        else:
            # A reference to tangents that has been given none yet.
            if args or not primitive.stateful or primitive not in self.transposes:
                state.trace = self.parent
                try:
                    return self.parent.process(primitive, args, params)
                finally:
                    state.trace = self
        if primitive.structured:
            expand = self.expansions.get(primitive)
            if expand is not None and primitive not in self.transposes:
                found = expand(**params)
                return computed(found.callee if isinstance(found, Kept) else found, args)
        avals = [x.aval if isinstance(x, Tracer) else aval_of(x) for x in args]
        if primitive.structured:
            result = self.rules[primitive](*avals, **params)
            if state.axes:
                result = with_varying(primitive, avals, params, result)
            if ShapedArray.spreading:
                result = with_spreads(primitive, avals, params, result)
        else:
            key = (primitive, *avals, *params.items())
            result = self.avals.get(key)
            if result is None:
                result = self.rules[primitive](*avals, **params)
                if state.axes:
                    result = with_varying(primitive, avals, params, result)
                if ShapedArray.spreading:
                    result = with_spreads(primitive, avals, params, result)
                self.avals[key] = result
        if primitive.multiple_results:
            outs = [TapeTracer(self, aval) for aval in result]
            self.eqns.append(TapeEqn(primitive, args, params, outs, self.source()))
            return outs
        out = TapeTracer(self, result)
        self.eqns.append(TapeEqn(primitive, args, params, [out], self.source()))
        return out


class LinearizeTracer(DualTracer):
    """A primal and its tangent on the tape."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"LinearizeTracer(primal={self.primal!r})"


class LinearizeTrace(DualTrace):
    """Computes primals in the parent and writes tangents on a tape."""

    __slots__ = ("linearize_rules", "tape")

    tracer = LinearizeTracer

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent, "grad, vjp or linearize")
        self.tape = TapeTrace(parent)
        self.linearize_rules = registry.table(linearize_rule)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's derivative rule."""
        primals, tangents, differentiated = self.split(args)
        previous = state.trace
        if not differentiated and not primitive.stateful:
            state.trace = self.parent
            try:
                return self.parent.process(primitive, primals, params)
            finally:
                state.trace = previous
        if primitive.structured and not primitive.stateful:
            marked = differentiated_references(primals, tangents)
            if any(marked) and has_pure_form(primitive):
                return with_values(primitive, args, params, marked)
        for i, t in enumerate(tangents):
            if t is None:
                tangents[i] = zero_tangent(primals[i])
        rule = self.linearize_rules.get(primitive) or self.rules[primitive]
        state.trace = self.tape
        try:
            if ShapedArray.spreading and not primitive.structured and spreads_among(primals):
                out, out_dot = typed_derivative(rule, primitive, primals, tangents, params)
            else:
                out, out_dot = rule(primals, tangents, **params)
        finally:
            state.trace = previous
        if primitive.multiple_results:
            return [self.pair(y, y_dot) for y, y_dot in zip(out, out_dot, strict=True)]
        return self.pair(out, out_dot)


@dataclass(slots=True)
class Linearized:
    """A function's values at a point, and its derivative there.

    Attributes:
        outs: values.
        tape: the linear program.
        inputs: its inputs, ``None`` for inputs that are not differentiated.
        out_tangents: its outputs: tape tracers or symbolic zeros.
    """

    outs: list[Any]
    tape: TapeTrace
    inputs: list[TapeTracer | None]
    out_tangents: list[Any]


@ends_trace
def linearize_flat(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], differentiate: Sequence[bool]
) -> Linearized:
    """Linearize a function on flat sequences.

    Args:
        function: takes one value per primal; gives a sequence.
        primals: the point.
        differentiate: which inputs have tangents.
    """
    parent = state.trace
    trace = LinearizeTrace(parent)
    inputs = [
        TapeTracer(trace.tape, aval_of(x).to_tangent_aval()) if d else None
        for x, d in zip(primals, differentiate, strict=True)
    ]
    args = [
        x if t is None else LinearizeTracer(trace, x, t)
        for x, t in zip(primals, inputs, strict=True)
    ]
    state.trace = trace
    try:
        pairs = [trace.unpair(y) for y in function(*args)]
    finally:
        state.trace = parent
        trace.finish()
        trace.tape.finish()
    return Linearized([p for p, _ in pairs], trace.tape, inputs, [t for _, t in pairs])


def linearize_on_tape(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Within a linearize rule: values and tangents of a function, its derivative written on the current tape."""
    tape = state.trace
    assert isinstance(tape, TapeTrace)
    trace = LinearizeTrace(tape.parent)
    trace.tape = tape
    args = [trace.pair(x, t) for x, t in zip(primals, tangents, strict=True)]
    state.trace = trace
    try:
        pairs = [trace.unpair(y) for y in function(*args)]
    finally:
        state.trace = tape
        trace.finish()
    return [p for p, _ in pairs], [t for _, t in pairs]


def tape_jaxpr(linearized: Linearized) -> tuple[ClosedJaxpr, list[Any]]:
    """The tape as a program ``(residuals, tangents) -> tangents of the outputs that have one``.

    Returns:
        The program, without operations that no output needs, and the values of the residuals. Scalars that are known
        stay in the program as literals.
    """
    tape = linearized.tape
    outs = [t for t in linearized.out_tangents if type(t) is TapeTracer]
    live = {t.slot for t in outs}
    kept: list[TapeEqn] = []
    for eqn in reversed(tape.eqns):
        if any(o.slot in live for o in eqn.outs) or _has_effects(eqn):
            kept.append(eqn)
            live.update(x.slot for x in eqn.operands if _on(tape, x))
    constants = StagingTrace("linearize")
    variables: dict[int, Var] = {}
    tangents: list[Var] = []
    for t in linearized.inputs:
        if t is not None:
            variables[t.slot] = Var(t.aval)
            tangents.append(variables[t.slot])
    eqns = []
    for eqn in reversed(kept):
        invars: list[Any] = [
            variables[x.slot] if _on(tape, x) else constants.atom(x) for x in eqn.operands
        ]
        outvars = [Var(o.aval) for o in eqn.outs]
        variables.update((o.slot, v) for o, v in zip(eqn.outs, outvars, strict=True))
        eqns.append(new_eqn(invars, outvars, eqn.primitive, eqn.params, eqn.source))
    residuals = list(constants.constants.values())
    invars = [*(v for v, _ in residuals), *tangents]
    jaxpr = Jaxpr([], invars, [variables[t.slot] for t in outs], eqns, "linear")
    return ClosedJaxpr(jaxpr), [value for _, value in residuals]


def _has_effects(eqn: TapeEqn) -> bool:
    if eqn.primitive.structured:
        return bool(jaxpr_effects(eqn.params))
    rule = registry.table(effects_rule).get(eqn.primitive)
    return rule is not None and bool(rule(**eqn.params))


def _on(tape: TapeTrace, x: Any) -> bool:
    return type(x) is TapeTracer and x._trace is tape


@dataclass(slots=True)
class LinearizedJaxpr:
    """A program split into values and derivative.

    Attributes:
        primal: ``x -> (y, residuals that are not inputs)``.
        linear: ``(residuals, x_dot of the nonzero inputs) -> y_dot of the nonzero outputs``.
        sources: where each residual comes from: an input's index, or ``None`` for the next extra output of ``primal``.
        nonzero_out: which outputs have a tangent.
    """

    primal: ClosedJaxpr
    linear: ClosedJaxpr
    sources: list[int | None]
    nonzero_out: list[bool]

    def residuals(self, primals: Sequence[Any], extra: Sequence[Any]) -> list[Any]:
        """Residual values, from the inputs and the extra outputs of ``primal``."""
        stored = iter(extra)
        return [next(stored) if s is None else primals[s] for s in self.sources]

    def tangents(self, found: Sequence[Any]) -> list[Any]:
        """One tangent per output, with symbolic zeros where there is none."""
        # The residuals follow the outputs.
        outs = self.primal.out_avals[: len(self.nonzero_out)]
        return with_zeros(found, self.nonzero_out, outs)


def linearize_jaxpr(
    jaxpr: ClosedJaxpr, nonzeros: Sequence[bool], instantiate_out: Sequence[bool] | None = None
) -> LinearizedJaxpr:
    """Split a program into values and derivative; memoised, so nesting costs nothing twice.

    Args:
        jaxpr: ``x -> y``.
        nonzeros: which inputs have a tangent.
        instantiate_out: which outputs must have a tangent even if it is zero.
    """
    forced = (
        tuple(instantiate_out) if instantiate_out is not None else (False,) * len(jaxpr.out_avals)
    )

    def make() -> LinearizedJaxpr:
        trace = StagingTrace(jaxpr.jaxpr.debug_name)
        # References that the program makes for itself are gone; those that it is given stay.
        source = discharge(jaxpr)
        args = [trace.new_input(aval) for aval in jaxpr.in_avals]
        previous = state.trace
        state.trace = trace
        try:
            found = linearize_flat(lambda *xs: eval_closed(source, *xs), args, nonzeros)
            linear, values = tape_jaxpr(found)
            nonzero_out = [type(t) is TapeTracer for t in found.out_tangents]
            if any(f and not nz for f, nz in zip(forced, nonzero_out, strict=True)):
                linear = _force_outputs(linear, found, forced, nonzero_out)
                nonzero_out = [f or nz for f, nz in zip(forced, nonzero_out, strict=True)]
            positions = {v: i for i, v in enumerate(trace.invars)}
            sources = [
                positions.get(x._var) if type(x) is StagingTracer and x._trace is trace else None
                for x in values
            ]
            extra = [x for x, s in zip(values, sources, strict=True) if s is None]
            primal = trace.close([*found.outs, *extra])
        finally:
            state.trace = previous
            trace.finish()
        return LinearizedJaxpr(primal, linear, sources, nonzero_out)

    made: LinearizedJaxpr = memoise(jaxpr, ("linearize", tuple(nonzeros), forced), make)
    return made


def _force_outputs(
    linear: ClosedJaxpr, found: Linearized, forced: Sequence[bool], nonzero: Sequence[bool]
) -> ClosedJaxpr:
    trace = StagingTrace("linear")
    args = [trace.new_input(aval) for aval in linear.in_avals]
    previous = state.trace
    state.trace = trace
    try:
        given = iter(eval_closed(linear, *args))
        outs = []
        for t, f, nz in zip(found.out_tangents, forced, nonzero, strict=True):
            if nz:
                outs.append(next(given))
            elif f:
                outs.append(zeros(t.aval))
        return trace.close(outs)
    finally:
        state.trace = previous
        trace.finish()
