"""Forward-mode differentiation.

Every value becomes a pair (x, x_dot), x_dot living in the tangent space of x. For a primitive f the rule gives
(f(x), Df(x) x_dot). Invariant: a tracer of this trace never holds a tangent of another aval than its primal's tangent aval,
and never a symbolic zero: a value without tangent is no tracer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from plugjax.core import registry
from plugjax.core.array import aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.jaxpr import ClosedJaxpr, eval_closed, memoise
from plugjax.core.primitive import Primitive, Trace, Tracer, state
from plugjax.core.rules import RuleKind
from plugjax.core.vocabulary import Zero, instantiate
from plugjax.meshes.types import spreads_among, typed_derivative
from plugjax.transforms.discharge import has_pure_form, is_reference, with_values
from plugjax.transforms.ending import ends_trace
from plugjax.transforms.staging import stage


class JvpRule(Protocol):
    """The derivative of a primitive along tangents."""

    def __call__(
        self, primals: Sequence[Any], tangents: Sequence[Any], /, *args: Any, **params: Any
    ) -> tuple[Any, Any]:
        """The result and its tangent; a list each if there are several. Tangents may be ``Zero``."""


jvp_rule: RuleKind[JvpRule] = RuleKind("jvp", "(primals, tangents, **params) -> (primal, tangent)")


class DualTracer(Tracer):
    """A primal and its tangent."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.aval = aval_of(primal)
        self.primal = primal
        self.tangent = tangent

    def _concrete(self) -> Any:
        primal = self.primal
        return primal._concrete() if isinstance(primal, Tracer) else primal


class DualTrace(Trace):
    """A trace whose tracers are primals with tangents.

    Attributes:
        tracer: the type of the tracers.
    """

    __slots__ = ("parent", "rules")

    tracer: type[DualTracer]

    def __init__(self, parent: Trace, origin: str) -> None:
        super().__init__(origin)
        self.parent = parent
        self.rules = registry.table(jvp_rule)

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        """Primals, tangents (``None`` for values without), and whether there is a tangent."""
        primals: list[Any] = []
        tangents: list[Any] = []
        differentiated = False
        tracer = self.tracer
        for x in args:
            if type(x) is tracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                differentiated = True
            else:
                primals.append(x)
                tangents.append(None)
        return primals, tangents, differentiated

    def pair(self, primal: Any, tangent: Any) -> Any:
        """A tracer, or the primal alone if it has no tangent."""
        return primal if type(tangent) is Zero else self.tracer(self, primal, tangent)

    def unpair(self, x: Any) -> tuple[Any, Any]:
        """Primal and tangent of a value."""
        if type(x) is self.tracer and x._trace is self:
            return x.primal, x.tangent
        return x, zero_tangent(x)


def differentiated_references(primals: Sequence[Any], tangents: Sequence[Any]) -> list[bool]:
    """Which operands are references that have a tangent."""
    return [t is not None and is_reference(x) for x, t in zip(primals, tangents, strict=True)]


def zero_tangent(x: Any) -> Zero:
    """The symbolic zero in the tangent space of ``x``."""
    return Zero(aval_of(x).to_tangent_aval())


def with_zeros(
    tangents: Iterable[Any], nonzeros: Iterable[bool], avals: Iterable[ShapedArray]
) -> list[Any]:
    """One tangent for each aval of a primal: the next of ``tangents``, or a symbolic zero."""
    given = iter(tangents)
    return [
        next(given) if nz else Zero(aval.to_tangent_aval())
        for nz, aval in zip(nonzeros, avals, strict=True)
    ]


class JVPTracer(DualTracer):
    """A primal and its tangent in forward mode."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal!r}, tangent={self.tangent!r})"


class JVPTrace(DualTrace):
    """Pushes tangents forward."""

    __slots__ = ()

    tracer = JVPTracer

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent, "jvp")

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's jvp rule, in the parent."""
        primals, tangents, differentiated = self.split(args)
        previous = state.trace
        state.trace = self.parent
        try:
            if not differentiated and not primitive.stateful:
                return self.parent.process(primitive, primals, params)
            if primitive.structured and not primitive.stateful:
                marked = differentiated_references(primals, tangents)
                if any(marked) and has_pure_form(primitive):
                    state.trace = self
                    return with_values(primitive, args, params, marked)
            for i, t in enumerate(tangents):
                if t is None:
                    tangents[i] = zero_tangent(primals[i])
            rule = self.rules[primitive]
            if ShapedArray.spreading and not primitive.structured and spreads_among(primals):
                out, out_dot = typed_derivative(rule, primitive, primals, tangents, params)
            else:
                out, out_dot = rule(primals, tangents, **params)
        finally:
            state.trace = previous
        if primitive.multiple_results:
            return [self.pair(y, y_dot) for y, y_dot in zip(out, out_dot, strict=True)]
        return self.pair(out, out_dot)


@ends_trace
def jvp_flat(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Values and tangents of a function on flat sequences; tangents may be symbolic zeros on both sides."""
    trace = JVPTrace(state.trace)
    args = [trace.pair(x, t) for x, t in zip(primals, tangents, strict=True)]
    previous = state.trace
    state.trace = trace
    try:
        outs = function(*args)
        pairs = [trace.unpair(y) for y in outs]
    finally:
        state.trace = previous
        trace.finish()
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_jaxpr(
    jaxpr: ClosedJaxpr, nonzeros: Sequence[bool], instantiate_out: bool | Sequence[bool] = False
) -> tuple[ClosedJaxpr, list[bool]]:
    """The forward derivative of a program, as a program; memoised.

    Args:
        jaxpr: ``x -> y``.
        nonzeros: which inputs have a tangent.
        instantiate_out: which outputs must have a tangent even if it is zero.

    Returns:
        A program ``(x, x_dot of nonzeros) -> (y, y_dot of nonzero outputs)``, and which outputs have a tangent.
    """
    forced = (
        (instantiate_out,) * len(jaxpr.out_avals)
        if isinstance(instantiate_out, bool)
        else tuple(instantiate_out)
    )

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        nonzero_out: list[bool] = []
        count = len(jaxpr.in_avals)

        def derivative(*args: Any) -> list[Any]:
            tangents = with_zeros(args[count:], nonzeros, jaxpr.in_avals)
            outs, outs_dot = jvp_flat(lambda *xs: eval_closed(jaxpr, *xs), args[:count], tangents)
            nonzero_out[:] = [
                f or type(t) is not Zero for f, t in zip(forced, outs_dot, strict=True)
            ]
            kept = [instantiate(t) for t, nz in zip(outs_dot, nonzero_out, strict=True) if nz]
            return [*outs, *kept]

        avals = [
            *jaxpr.in_avals,
            *(a.to_tangent_aval() for a, nz in zip(jaxpr.in_avals, nonzeros, strict=True) if nz),
        ]
        return stage(derivative, avals, f"jvp({jaxpr.jaxpr.debug_name})"), nonzero_out

    found: tuple[ClosedJaxpr, list[bool]] = memoise(jaxpr, ("jvp", tuple(nonzeros), forced), make)
    return found
