"""Functions evaluated as far as their arguments are known, and written down beyond that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from plugjax.extend.core import Jaxpr, Primitive, Trace, Var, as_array, aval_of, state
from plugjax.extend.execution import ensure_compile_time_eval
from plugjax.extend.linear_util import WrappedFun
from plugjax.extend.transforms import StagingTrace, StagingTracer, stage

# Rules ``(trace, *operands, **params) -> result, or a list of them``, for :func:`trace_to_jaxpr_nounits`: what is computed of an
# operation of which an operand is not known. The trace is a :class:`PartialEvalTrace`, and operands are :class:`PartialOperand`\ s.
custom_partial_eval_rules: dict[Primitive, Callable[..., Any]] = {}


class PartialVal(tuple[Any, Any]):
    """A value that is known, ``(None, value)``, or the type of one that is not, ``(aval, None)``.

    Example:
        >>> from plugjax.interpreters.partial_eval import PartialVal
        >>> PartialVal.known(2.0).get_known()
        2.0
    """

    __slots__ = ()

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """A value."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """The type of a value."""
        return cls((aval, None))

    def is_known(self) -> bool:
        """Whether it is a value."""
        return self[0] is None

    def get_known(self) -> Any:
        """The value; ``None`` if it is not known."""
        return self[1]

    def get_aval(self) -> Any:
        """The type."""
        return aval_of(self[1]) if self.is_known() else self[0]


class PartialOperand:
    """What a rule of :data:`custom_partial_eval_rules` gets for an operand.

    Attributes:
        value: the value, or the tracer of one that is not known.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def aval(self) -> Any:
        """Its type."""
        return aval_of(self.value)

    @property
    def pval(self) -> PartialVal:
        """The value or the type."""
        known = self.is_known()
        return PartialVal.known(self.value) if known else PartialVal.unknown(self.aval)

    def is_known(self) -> bool:
        """Whether it is a value."""
        return not isinstance(self.value, StagingTracer)


class PartialEvalTrace(StagingTrace):
    """Writes equations of which an operand is not known.

    Attributes:
        parent_trace: what computes the others.
    """

    __slots__ = ("parent_trace",)

    def __init__(self, parent_trace: Trace, origin: str) -> None:
        super().__init__(origin)
        self.parent_trace = parent_trace

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Ask the primitive's rule, if there is one."""
        rule = custom_partial_eval_rules.get(primitive)
        if rule is None:
            return super().process(primitive, args, params)
        with self._outside():
            found = rule(self, *map(self.to_jaxpr_tracer, args), **params)
        return list(map(_value, found)) if primitive.multiple_results else _value(found)

    @contextmanager
    def _outside(self) -> Iterator[None]:
        inner = state.trace
        state.trace = self.parent_trace
        try:
            yield
        finally:
            state.trace = inner

    def to_jaxpr_tracer(self, x: Any) -> PartialOperand:
        """A value as an operand."""
        return x if isinstance(x, PartialOperand) else PartialOperand(as_array(x))

    new_const = to_jaxpr_tracer

    def new_instantiated_const(self, value: Any) -> PartialOperand:
        """A value as one that is not known: a constant of the program."""
        value = as_array(value)
        var, _ = self.constants.setdefault(id(value), (Var(aval_of(value)), value))
        return PartialOperand(StagingTracer(self, var))

    def instantiate_const(self, operand: PartialOperand) -> PartialOperand:
        """The operand as one that is not known."""
        return self.new_instantiated_const(operand.value) if operand.is_known() else operand

    def default_process_primitive(
        self, primitive: Primitive, tracers: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """What is done without a rule: compute the operation if all operands are known, or write it down."""
        operands = list(map(self.to_jaxpr_tracer, tracers))
        values = [x.value for x in operands]
        if all(x.is_known() for x in operands):
            return self.parent_trace.process(primitive, values, params)
        found = super().process(primitive, values, params)
        return (
            [PartialOperand(y) for y in found]
            if primitive.multiple_results
            else PartialOperand(found)
        )


def _value(found: Any) -> Any:
    return found.value if isinstance(found, PartialOperand) else as_array(found)


def flags(given: bool | Sequence[bool], count: int) -> list[bool]:
    """One flag for each, given one for all or one for each."""
    return [given] * count if isinstance(given, bool) else list(given)


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Evaluate what depends on known values alone, and write down the rest.

    Args:
        fun: of arrays, gives a sequence of them.
        pvals: one for each argument.
        instantiate: which results count as unknown even if they are known.

    Returns:
        A program of the unknown arguments that gives the unknown results; a :class:`PartialVal` for each result; and the values
        of the program's constants.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.core import ShapedArray
        >>> from plugjax.extend import linear_util as lu
        >>> from plugjax.interpreters import partial_eval as pe
        >>> known, unknown = pe.PartialVal.known(jnp.float32(2.0)), pe.PartialVal.unknown(ShapedArray((), "float32"))
        >>> program, outs, _ = pe.trace_to_jaxpr_nounits(lu.wrap_init(lambda x, y: [x * x, x * x + y]), [known, unknown])
        >>> program, outs[0].get_known()
        ({ lambda ; a:f32[]. let b:f32[] = add 4.0:f32[] a in (b,) }, Array(4., dtype=float32))
    """
    outs: list[PartialVal] = []
    outer = state.trace

    def unknown(*tracers: Any) -> list[Any]:
        rest = iter(tracers)
        args = [p.get_known() if p.is_known() else next(rest) for p in pvals]
        with ensure_compile_time_eval():
            found = [as_array(y) for y in fun.call_wrapped(*args)]
        for y, forced in zip(found, flags(instantiate, len(found)), strict=True):
            if forced or isinstance(y, StagingTracer):
                outs.append(PartialVal.unknown(aval_of(y)))
            else:
                outs.append(PartialVal.known(y))
        return [y for y, p in zip(found, outs, strict=True) if not p.is_known()]

    avals = [p.get_aval() for p in pvals if not p.is_known()]
    program = stage(unknown, avals, fun.__name__, trace_type=partial(PartialEvalTrace, outer))
    return program.jaxpr, outs, program.consts
