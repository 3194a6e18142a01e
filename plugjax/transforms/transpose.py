"""Transposition: from a linear map to its transpose, by walking a tape backwards.

If y_dot = A x_dot then x_bar = A^T y_bar. Each primitive's rule transposes one operation; cotangents of a value that is used
several times are added. Cotangents that nothing contributes to stay symbolic zeros, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.array import aval_of
from plugjax.core.aval import AbstractReference, ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Var, eval_closed, memoise
from plugjax.core.primitive import Tracer, state
from plugjax.core.vocabulary import Zero, add_any
from plugjax.meshes.errors import ShardingTypeError
from plugjax.meshes.types import cotangent_typed, spreads_among, untyped
from plugjax.transforms.dce import dce_rule
from plugjax.transforms.enclosing import describe_frames
from plugjax.transforms.expansion import expand_rule
from plugjax.transforms.jvp import with_zeros
from plugjax.transforms.linearize import (
    TapeEqn,
    TapeTrace,
    TapeTracer,
    transpose_rule as transpose_rule,
)
from plugjax.transforms.staging import stage
from plugjax.transforms.varying import cotangent_aval, cotangent_of, summed


class UndefinedPrimal:
    """Stands in a transpose rule for an operand whose cotangent is wanted; only its aval is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short()})"


def is_undefined_primal(x: Any) -> bool:
    """Whether a rule's operand is one that its primitive is linear in."""
    return type(x) is UndefinedPrimal


def backward(
    tape: TapeTrace,
    inputs: Sequence[TapeTracer | None],
    outputs: Sequence[Any],
    cotangents: Sequence[Any],
    references: Sequence[Any] = (),
) -> list[Any]:
    """Pull cotangents back through a tape.

    Args:
        tape: the linear program.
        inputs: its inputs, ``None`` where no cotangent is wanted.
        outputs: its outputs, tape tracers or symbolic zeros.
        cotangents: one per output; symbolic zeros allowed.
        references: for each input that is a reference, the one that its cotangents are added to.

    Returns:
        One cotangent per input, a symbolic zero where nothing contributes, ``None`` where none is wanted.
    """
    table, calls = registry.table(transpose_rule), registry.table(expand_rule)
    bars: list[Any] = [None] * tape.slots
    for out, bar in zip(outputs, cotangents, strict=True):
        if type(out) is TapeTracer and type(bar) is not Zero:
            _accumulate(bars, out.slot, summed(bar, out.aval) if state.axes else bar)
    for t, reference in zip(inputs, references, strict=False):
        if t is not None and isinstance(t.aval, AbstractReference):
            bars[t.slot] = reference
    outer = state.source
    try:
        for eqn in reversed(tape.eqns):
            outs = eqn.outs
            state.source = eqn.source or outer
            if eqn.primitive.stateful:
                _pull_through_reference(tape, eqn, bars)
                continue
            if eqn.primitive.multiple_results:
                found = [bars[o.slot] for o in outs]
                wanted = [bar is not None for bar in found]
                if not any(wanted):
                    continue
                # Calls are transposed without what needs no cotangent.
                if eqn.primitive.structured and eqn.primitive not in calls:
                    eqn = _pruned(eqn, wanted)
                    found = [bars[o.slot] for o in eqn.outs]
                incoming: Any = [
                    Zero(o.aval) if bar is None else bar
                    for bar, o in zip(found, eqn.outs, strict=True)
                ]
            else:
                incoming = bars[outs[0].slot]
                if incoming is None:
                    continue
            operands = [
                UndefinedPrimal(x.aval) if type(x) is TapeTracer and x._trace is tape else x
                for x in eqn.operands
            ]
            if ShapedArray.spreading:
                results = _typed_transpose(table[eqn.primitive], eqn, incoming, operands)
            else:
                results = table[eqn.primitive](incoming, *operands, **eqn.params)
            for x, bar in zip(eqn.operands, results, strict=True):
                if bar is not None and type(bar) is not Zero and type(x) is TapeTracer:
                    _accumulate(bars, x.slot, summed(bar, x.aval) if state.axes else bar)
            for o in outs:
                bars[o.slot] = None
    finally:
        state.source = outer
    return [
        None if t is None else (Zero(t.aval) if bars[t.slot] is None else bars[t.slot])
        for t in inputs
    ]


def _pruned(eqn: TapeEqn, used: Sequence[bool]) -> TapeEqn:
    """The operation without results that have no cotangent, and without what only they need: its cotangent is a symbolic zero."""
    rule = registry.table(dce_rule).get(eqn.primitive)
    if rule is None:
        return eqn
    invars = [Var(x.aval if isinstance(x, Tracer) else aval_of(x)) for x in eqn.operands]
    outvars = [Var(o.aval) for o in eqn.outs]
    _, found = rule(used, JaxprEqn(invars, outvars, eqn.primitive, eqn.params))
    values = dict(zip((*invars, *outvars), (*eqn.operands, *eqn.outs), strict=True))
    if found is None or any(v not in values for v in (*found.invars, *found.outvars)):
        return eqn
    operands, outs = ([values[v] for v in each] for each in (found.invars, found.outvars))
    return TapeEqn(found.primitive, operands, found.params, outs, eqn.source)


def _typed_transpose(
    rule: Callable[..., Sequence[Any]], eqn: TapeEqn, incoming: Any, operands: Sequence[Any]
) -> list[Any]:
    """What a transpose rule gives; cotangents are spread as what they belong to."""
    several = eqn.primitive.multiple_results

    def run(bars: Sequence[Any], given: Sequence[Any]) -> Sequence[Any]:
        return rule(list(bars) if several else bars[0], *given, **eqn.params)

    def without_types(x: Any) -> Any:
        if type(x) is UndefinedPrimal:
            return UndefinedPrimal(x.aval.update(spread=None))
        return untyped(x)

    bars = incoming if several else [incoming]
    if eqn.primitive.structured or not spreads_among((*bars, *operands)):
        results = run(bars, operands)
    else:
        try:
            results = run(bars, operands)
        except ShardingTypeError:
            results = run(list(map(untyped, bars)), list(map(without_types, operands)))
    return [
        bar if bar is None or type(x) is not TapeTracer else cotangent_typed(bar, x.aval)
        for x, bar in zip(eqn.operands, results, strict=True)
    ]


class Accumulator:
    """Stands in a transpose rule for a reference to tangents: what flows back to it is collected in a reference of its own.

    Attributes:
        aval: of the reference.
        known: whether something has been collected.
    """

    __slots__ = ("_bars", "_slot", "aval")

    def __init__(self, aval: AbstractReference, bars: list[Any], slot: int) -> None:
        self.aval = aval
        self._bars = bars
        self._slot = slot

    @property
    def known(self) -> bool:
        """Whether something has been collected."""
        return self._bars[self._slot] is not None

    @property
    def reference(self) -> Any:
        """The reference to cotangents; made of zeros at the first use."""
        found = self._bars[self._slot]
        if found is None:
            found = self._bars[self._slot] = self.aval.of_zeros()
        return found


def _pull_through_reference(tape: TapeTrace, eqn: TapeEqn, bars: list[Any]) -> None:
    """Transpose an equation that makes, reads or writes a reference to tangents."""
    incoming = [bars[o.slot] for o in eqn.outs]
    operands: list[Any] = []
    for x in eqn.operands:
        if not (type(x) is TapeTracer and x._trace is tape):
            operands.append(x)
        elif isinstance(x.aval, AbstractReference):
            operands.append(Accumulator(x.aval, bars, x.slot))
        else:
            operands.append(UndefinedPrimal(x.aval))
    cotangents = incoming if eqn.primitive.multiple_results else incoming[0]
    results = registry.table(transpose_rule)[eqn.primitive](cotangents, *operands, **eqn.params)
    for x, bar in zip(eqn.operands, results, strict=True):
        if bar is not None and type(bar) is not Zero and type(x) is TapeTracer:
            _accumulate(bars, x.slot, bar)
    for o in eqn.outs:
        bars[o.slot] = None


describe_frames(backward, lambda local: f"transpose of {local['eqn'].primitive.name}")


def _accumulate(bars: list[Any], slot: int, bar: Any) -> None:
    existing = bars[slot]
    bars[slot] = bar if existing is None else add_any(existing, bar)


def transpose_flat(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    cotangents: Sequence[Any],
    references: Sequence[Any] = (),
) -> list[Any]:
    """Transpose a function of flat sequences that is linear in the operands given as UndefinedPrimal.

    Args:
        function: evaluates the linear map.
        operands: values, and ``UndefinedPrimal`` for those it is linear in.
        cotangents: one per output.
        references: as in :func:`backward`.

    Returns:
        One cotangent per operand, ``None`` for values.
    """
    parent = state.trace
    tape = TapeTrace(parent)
    inputs = [TapeTracer(tape, x.aval) if is_undefined_primal(x) else None for x in operands]
    args = [x if t is None else t for x, t in zip(operands, inputs, strict=True)]
    state.trace = tape
    try:
        outs = function(*args)
    finally:
        state.trace = parent
        tape.finish()
    return backward(tape, inputs, outs, cotangents, references)


def transpose_jaxpr(
    jaxpr: ClosedJaxpr,
    linear: Sequence[bool],
    nonzero_cotangents: Sequence[bool],
    instantiate_out: bool = False,
) -> tuple[ClosedJaxpr, list[bool]]:
    """The transpose of a program that is linear in some inputs, as a program; memoised.

    Args:
        jaxpr: the program.
        linear: which inputs it is linear in.
        nonzero_cotangents: for which outputs a cotangent will be given.
        instantiate_out: whether zero cotangents are made into arrays.

    Returns:
        A program ``(other inputs, cotangents) -> cotangents of linear inputs that are not zero``, and which those are.
    """

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        nonzero: list[bool] = []
        fixed = len(linear) - sum(linear)
        linear_avals = [a for a, is_linear in zip(jaxpr.in_avals, linear, strict=True) if is_linear]

        def pull(*args: Any) -> list[Any]:
            values = iter(args[:fixed])
            operands = [
                UndefinedPrimal(a) if is_linear else next(values)
                for a, is_linear in zip(jaxpr.in_avals, linear, strict=True)
            ]
            bars = with_zeros(args[fixed:], nonzero_cotangents, jaxpr.out_avals)
            found = transpose_flat(lambda *xs: eval_closed(jaxpr, *xs), operands, bars)
            wanted = [bar for bar, is_linear in zip(found, linear, strict=True) if is_linear]
            nonzero[:] = [instantiate_out or type(bar) is not Zero for bar in wanted]
            return [
                cotangent_of(bar, a)
                for bar, a, nz in zip(wanted, linear_avals, nonzero, strict=True)
                if nz
            ]

        avals = [a for a, is_linear in zip(jaxpr.in_avals, linear, strict=True) if not is_linear]
        avals += [
            cotangent_aval(a)
            for a, nz in zip(jaxpr.out_avals, nonzero_cotangents, strict=True)
            if nz
        ]
        return stage(pull, avals, f"transpose({jaxpr.jaxpr.debug_name})"), nonzero

    key = ("transpose", tuple(linear), tuple(nonzero_cotangents), instantiate_out)
    found: tuple[ClosedJaxpr, list[bool]] = memoise(jaxpr, key, make)
    return found
