"""Taylor series of values: the transformation behind ``jet``.

Every value is a polynomial x(s) = x_0 + x_1 s + ... + x_K s^K. For a primitive f the rule of the kind ``taylor`` gives the
coefficients of f(x(s)) up to s^K. Invariant: a tracer of this trace has K coefficients of its primal's shape and of its
tangents' dtype; a constant is no tracer.

A primitive without such a rule has one by its derivative. With g the tangent of its jvp rule, a function of x and x_dot, the chain rule
says d/ds f(x(s)) = g(x(s), x'(s)). So the series of f, of order K, is the integral of the series of g, of order K - 1; g is a program
of primitives, through which the same transformation pushes series. What of the jvp rule computes the primal alone is
dropped from that program, so for most primitives the cost grows with a power of K.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from plugjax import lax
from plugjax.extend import registry
from plugjax.extend.core import (
    ClosedJaxpr,
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    Zero,
    aval_of,
    config,
    eval_closed,
    instantiate,
    memoise,
    new_cache,
    state,
)
from plugjax.extend.rules import RuleKind, expand_rule, jvp_rule
from plugjax.extend.transforms import Kept, computed, dce, ends_trace, simplify, stage, with_zeros
from plugjax.lax.families import scalar

Terms: TypeAlias = list[Any] | None

taylor: RuleKind[Callable[..., Any]] = RuleKind(
    "taylor",
    "(order, primals, series, **params) -> (primal, series); a series is a list of the coefficients of s to s^order, "
    "None for a constant; lists of both if there are several results",
)

_programs = new_cache()


class JetTracer(Tracer):
    """A value and the further coefficients of its series."""

    __slots__ = ("primal", "terms")

    def __init__(self, trace: Trace, primal: Any, terms: list[Any]) -> None:
        self._trace = trace
        self.aval = aval_of(primal)
        self.primal = primal
        self.terms = terms

    def _concrete(self) -> Any:
        primal = self.primal
        return primal._concrete() if isinstance(primal, Tracer) else primal

    def __repr__(self) -> str:
        return f"JetTracer(primal={self.primal!r}, terms={self.terms!r})"


class JetTrace(Trace):
    """Pushes series forward."""

    __slots__ = ("order", "parent", "rules")

    def __init__(self, parent: Trace, order: int) -> None:
        super().__init__("jet")
        self.parent = parent
        self.order = order
        self.rules = registry.table(taylor)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the primitive's rule, in the parent."""
        primals, series = map(list, zip(*map(self.split, args), strict=True)) if args else ([], [])
        previous = state.trace
        state.trace = self.parent
        try:
            if all(terms is None for terms in series):
                return self.parent.process(primitive, primals, params)
            rule = self.rules.find(primitive)
            if rule is not None:
                out, terms = rule(self.order, primals, series, **params)
            else:
                out, terms = by_default(primitive, self.order, primals, series, params)
        finally:
            state.trace = previous
        if primitive.multiple_results:
            return [self.joined(y, own) for y, own in zip(out, terms, strict=True)]
        return self.joined(out, terms)

    def split(self, x: Any) -> tuple[Any, Terms]:
        """Primal and series of a value."""
        if type(x) is JetTracer and x._trace is self:
            return x.primal, x.terms
        return x, None

    def joined(self, primal: Any, terms: Terms) -> Any:
        """A tracer, or the primal alone if it is constant."""
        return primal if terms is None else JetTracer(self, primal, terms)


@ends_trace
def jet_flat(
    function: Callable[..., Sequence[Any]],
    order: int,
    primals: Sequence[Any],
    series: Sequence[Terms],
) -> tuple[list[Any], list[Terms]]:
    """Values and series of a function on flat sequences; a series may be ``None``, for a constant, on both sides."""
    if not order:
        return list(function(*primals)), []
    trace = JetTrace(state.trace, order)
    args = [trace.joined(x, terms) for x, terms in zip(primals, series, strict=True)]
    previous = state.trace
    state.trace = trace
    try:
        pairs = [trace.split(y) for y in function(*args)]
    finally:
        state.trace = previous
        trace.finish()
    return [p for p, _ in pairs], [t for _, t in pairs]


def zero_terms(x: Any, order: int) -> list[Any]:
    """The series of a constant, written out."""
    zero = instantiate(Zero(aval_of(x).to_tangent_aval()))
    return [zero] * order


def jet_jaxpr(
    program: ClosedJaxpr, order: int, nonzeros: Sequence[bool], forced: Sequence[bool] = ()
) -> tuple[ClosedJaxpr, list[bool]]:
    """The series of a program, as a program; memoised.

    Args:
        program: ``x -> y``.
        order: of the series.
        nonzeros: which inputs have a series.
        forced: which outputs must have one even if they are constant; by default none.

    Returns:
        A program ``(x, terms of nonzeros) -> (y, terms of nonzero outputs)``, the terms of a value one after the other; and which
        outputs have a series.
    """
    flags = tuple(nonzeros), tuple(forced) or (False,) * len(program.out_avals)

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        nonzero_out: list[bool] = []
        count = len(program.in_avals)

        def series_of(*args: Any) -> list[Any]:
            outs, series = jet_flat(
                lambda *xs: eval_closed(program, *xs),
                order,
                args[:count],
                unflatten_terms(args[count:], nonzeros, order),
            )
            nonzero_out[:] = [f or t is not None for f, t in zip(flags[1], series, strict=True)]
            kept = [
                zero_terms(y, order) if terms is None else terms
                for y, terms, nz in zip(outs, series, nonzero_out, strict=True)
                if nz
            ]
            return [*outs, *flatten_terms(kept)]

        avals = list(program.in_avals)
        for aval, nz in zip(program.in_avals, nonzeros, strict=True):
            avals += [aval.to_tangent_aval()] * (order * nz)
        return stage(series_of, avals, f"jet({program.jaxpr.debug_name})"), nonzero_out

    found: tuple[ClosedJaxpr, list[bool]] = memoise(program, ("jet", order, flags), make)
    return found


def flatten_terms(series: Sequence[Terms]) -> list[Any]:
    """All terms of the series, one after the other."""
    return [term for terms in series if terms is not None for term in terms]


def unflatten_terms(flat: Sequence[Any], nonzeros: Sequence[bool], order: int) -> list[Terms]:
    """The series whose terms stand one after the other."""
    given = iter(flat)
    return [[next(given) for _ in range(order)] if nz else None for nz in nonzeros]


def tangent_program(
    primitive: Primitive, primals: Sequence[Any], nonzeros: Sequence[bool], params: dict[str, Any]
) -> tuple[ClosedJaxpr, list[bool]]:
    """The tangent of a primitive's jvp rule, as a program ``(x, x_dot of nonzeros) -> nonzero tangents``; cached but for calls and loops.

    Returns:
        The program, and which results have a tangent.
    """
    avals = [aval_of(x) for x in primals]
    # Parameters with programs and functions are new objects at each call.
    if primitive.structured:
        return _tangent_program(primitive, avals, nonzeros, params)
    key = primitive, tuple(avals), tuple(nonzeros), tuple(params.items()), config.fingerprint
    found: tuple[ClosedJaxpr, list[bool]] | None = _programs.get(key)
    if found is None:
        found = _programs[key] = _tangent_program(primitive, avals, nonzeros, params)
    return found


def _tangent_program(
    primitive: Primitive,
    avals: Sequence[ShapedArray],
    nonzeros: Sequence[bool],
    params: dict[str, Any],
) -> tuple[ClosedJaxpr, list[bool]]:
    rule = registry.table(jvp_rule)[primitive]
    nonzero_out: list[bool] = []

    def tangents(*args: Any) -> list[Any]:
        given = with_zeros(args[len(avals) :], nonzeros, avals)
        _, dots = rule(args[: len(avals)], given, **params)
        dots = dots if primitive.multiple_results else [dots]
        nonzero_out[:] = [type(t) is not Zero for t in dots]
        return [t for t in dots if type(t) is not Zero]

    dots = [a.to_tangent_aval() for a, nz in zip(avals, nonzeros, strict=True) if nz]
    program = stage(tangents, [*avals, *dots], f"jvp({primitive.name})")
    return dce(simplify(program, to_compile=False)), nonzero_out


def by_default(
    primitive: Primitive,
    order: int,
    primals: Sequence[Any],
    series: Sequence[Terms],
    params: dict[str, Any],
) -> tuple[Any, Any]:
    """The rule of a primitive that has none: by its derivative, else by what it stands for."""
    if primitive in registry.table(jvp_rule) or primitive not in registry.table(expand_rule):
        return by_derivative(primitive, order, primals, series, params)
    return by_expansion(primitive, order, primals, series, params)


def by_expansion(
    primitive: Primitive,
    order: int,
    primals: Sequence[Any],
    series: Sequence[Terms],
    params: dict[str, Any],
) -> tuple[Any, Any]:
    """The series of what an equation stands for."""
    found = registry.table(expand_rule)[primitive](**params)
    callee = found.callee if isinstance(found, Kept) else found
    outs, terms = jet_flat(lambda *xs: computed(callee, xs), order, primals, series)
    return (outs, terms) if primitive.multiple_results else (outs[0], terms[0])


def by_derivative(
    primitive: Primitive,
    order: int,
    primals: Sequence[Any],
    series: Sequence[Terms],
    params: dict[str, Any],
) -> tuple[Any, Any]:
    """The series of a primitive, as the integral of that of its tangent."""
    outs = primitive.bind(*primals, **params)
    nonzeros = [terms is not None for terms in series]
    program, nonzero_out = tangent_program(primitive, primals, nonzeros, params)
    moving = [terms for terms in series if terms is not None]
    velocities = [[times(k + 1, term) for k, term in enumerate(terms)] for terms in moving]
    inputs = [*primals, *(v[0] for v in velocities)]
    rest: list[list[Any]]
    if order == 1:
        firsts = eval_closed(program, *inputs)
        rest = [[] for _ in firsts]
    else:
        lower = [None if terms is None else terms[:-1] for terms in series]
        firsts, found = jet_flat(
            lambda *xs: eval_closed(program, *xs),
            order - 1,
            inputs,
            [*lower, *(v[1:] for v in velocities)],
        )
        rest = [
            zero_terms(y, order - 1) if terms is None else terms
            for y, terms in zip(firsts, found, strict=True)
        ]
    integrals = iter(
        [first, *(times(1 / (k + 2), term) for k, term in enumerate(terms))]
        for first, terms in zip(firsts, rest, strict=True)
    )
    result = [next(integrals) if nz else None for nz in nonzero_out]
    return (outs, result) if primitive.multiple_results else (outs, result[0])


def times(factor: float, x: Any) -> Any:
    """A multiple of a coefficient."""
    return x if factor == 1 else lax.mul_p.bind(x, scalar(factor, x))
