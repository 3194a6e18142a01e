"""Derivatives of a scan, which are scans.

Forward mode carries tangents along. A linearized loop is two: one computes the values and stacks residuals, the other reads them
and is linear; reverse mode runs it backwards (``scan_transpose``). What does not change from step to step (constants, and
residuals that are constants) is not stacked.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from plugjax.extend.core import (
    ClosedJaxpr,
    Literal,
    Zero,
    aval_of,
    eval_closed,
    instantiate,
    memoise,
)
from plugjax.extend.rules import RuleSet, jvp_rule, linearize_rule
from plugjax.extend.transforms import (
    LinearizedJaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    prune_closed,
    prune_outputs,
    stage,
    with_zeros,
)
from plugjax.lax.control_flow.bodies import fixpoint
from plugjax.lax.control_flow.scan import in_groups, parts, scan_p

rules = RuleSet(__name__)


def _reordered(
    key: Any,
    program: ClosedJaxpr,
    order: Callable[[Sequence[Any]], list[Any]],
    outputs: Callable[[list[Any]], list[Any]] = list,
) -> ClosedJaxpr:
    """A program whose inputs, and outputs, stand in another order; memoised under ``key``.

    Args:
        key: what ``order`` and ``outputs`` depend on.
        program: the program.
        order: from the new inputs to those of ``program``.
        outputs: from the outputs of ``program`` to the new ones.
    """

    def make() -> ClosedJaxpr:
        avals: list[Any] = list(program.in_avals)
        for position, aval in zip(order(range(len(avals))), program.in_avals, strict=True):
            avals[position] = aval
        return stage(
            lambda *xs: outputs(eval_closed(program, *order(xs))), avals, program.jaxpr.debug_name
        )

    made: ClosedJaxpr = memoise(program, ("reordered", key), make)
    return made


@dataclass(frozen=True, slots=True)
class _Tangents:
    """Tangents of a loop's operands, those that are no zeros.

    Attributes:
        consts, init, xs: the tangents.
    """

    consts: list[Any]
    init: list[Any]
    xs: list[Any]


def _nonzero_tangents(
    tangents: Sequence[Any], carry_nz: Sequence[bool], num_consts: int, num_carry: int
) -> _Tangents:
    """The tangents that a loop takes: a carry that gets a tangent in any step starts with one."""
    consts, init, xs = parts(tangents, num_consts, num_carry)
    return _Tangents(
        [t for t in consts if type(t) is not Zero],
        [instantiate(t) for t, nz in zip(init, carry_nz, strict=True) if nz],
        [t for t in xs if type(t) is not Zero],
    )


@rules.define(jvp_rule, scan_p)
def _scan_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    consts_nz, init_nz, xs_nz = parts(
        [type(t) is not Zero for t in tangents], num_consts, num_carry
    )
    ys = len(jaxpr.out_avals) - num_carry

    def with_tangents(carry_nz: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
        return jvp_jaxpr(jaxpr, [*consts_nz, *carry_nz, *xs_nz], [*carry_nz, *(False,) * ys])

    carry_nz = fixpoint(init_nz, lambda nz: with_tangents(nz)[1][:num_carry])
    body, out_nz = with_tangents(carry_nz)
    consts, init, xs = parts(primals, num_consts, num_carry)
    given = _nonzero_tangents(tangents, carry_nz, num_consts, num_carry)
    operands = [consts, given.consts, init, given.init, xs, given.xs]
    sizes = tuple(len(group) for group in operands)
    out_sizes = num_carry, len(given.init), ys, sum(out_nz[num_carry:])

    def order(args: Sequence[Any]) -> list[Any]:
        consts, consts_dot, init, init_dot, xs, xs_dot = in_groups(args, sizes)
        return [*consts, *init, *xs, *consts_dot, *init_dot, *xs_dot]

    def outputs(found: list[Any]) -> list[Any]:
        n_carry, n_carry_dot, n_y, n_y_dot = out_sizes
        carry, y, carry_dot, y_dot = in_groups(found, (n_carry, n_y, n_carry_dot, n_y_dot))
        return [*carry, *carry_dot, *y, *y_dot]

    results = scan_p.bind(
        *itertools.chain(*operands),
        jaxpr=_reordered(sizes, body, order, outputs),
        num_consts=len(consts) + len(given.consts),
        num_carry=len(init) + len(given.init),
        **params,
    )
    carry, carry_dot, y, y_dot = in_groups(results, out_sizes)
    outs = [*carry, *y]
    return outs, with_zeros([*carry_dot, *y_dot], out_nz, map(aval_of, outs))


@dataclass(slots=True)
class _ResidualPlaces:
    """Where the residuals that a loop body computes are kept.

    Attributes:
        hoisted: a program of constants: the residuals that are the same in every step.
        needed: which inputs of the body ``hoisted`` takes.
        forward: the body, with the residuals to be stacked as further outputs.
        places: for each residual ``("hoisted", i)``, ``("y", i)`` if output i is the residual, or ``("stacked", i)``.
    """

    hoisted: ClosedJaxpr
    needed: list[bool]
    forward: ClosedJaxpr
    places: list[tuple[str, int]]


def _residual_places(
    primal: ClosedJaxpr, num_consts: int, num_carry: int, count: int
) -> _ResidualPlaces:
    """Sort the outputs of a body after the first ``count``; memoised."""

    def make() -> _ResidualPlaces:
        inner = primal.jaxpr
        constant: set[Any] = {*inner.constvars, *inner.invars[:num_consts]}
        if not inner.effects:
            for eqn in inner.eqns:
                if all(type(v) is Literal or v in constant for v in eqn.invars):
                    constant.update(eqn.outvars)
        ys = {v: i for i, v in enumerate(inner.outvars[:count]) if i >= num_carry}
        places: list[tuple[str, int]] = []
        counts = {"hoisted": 0, "stacked": 0}
        for v in inner.outvars[count:]:
            if v in ys:
                places.append(("y", ys[v]))
                continue
            kind = "hoisted" if v in constant and not inner.effects else "stacked"
            places.append((kind, counts[kind]))
            counts[kind] += 1
        own = [False] * count
        hoisted, needed = prune_closed(primal, (*own, *(k == "hoisted" for k, _ in places)))
        forward = prune_outputs(
            primal, (*(not f for f in own), *(k == "stacked" for k, _ in places))
        )
        return _ResidualPlaces(hoisted, needed, forward, places)

    found: _ResidualPlaces = memoise(primal, ("residual places", num_consts, count), make)
    return found


def _giving_inputs(program: ClosedJaxpr, indices: tuple[int, ...]) -> ClosedJaxpr:
    """The program with some of its inputs as further outputs; memoised."""
    if not indices:
        return program

    def give(*args: Any) -> list[Any]:
        return [*eval_closed(program, *args), *(args[i] for i in indices)]

    made: ClosedJaxpr = memoise(
        program,
        ("giving inputs", indices),
        lambda: stage(give, program.in_avals, program.jaxpr.debug_name),
    )
    return made


@dataclass(frozen=True, slots=True)
class _Residuals:
    """The residuals of a loop, as operands of its linear part.

    Attributes:
        fixed: those that are the same in every step.
        per_step: the others, stacked.
        places: for each residual of the body, whether it is fixed, and its position among ``fixed`` or ``per_step``.
    """

    fixed: list[Any] = field(default_factory=list)
    per_step: list[Any] = field(default_factory=list)
    places: list[tuple[bool, int]] = field(default_factory=list)

    def add(self, value: Any, is_fixed: bool) -> None:
        group = self.fixed if is_fixed else self.per_step
        self.places.append((is_fixed, len(group)))
        group.append(value)

    def of_body(self, fixed: Sequence[Any], per_step: Sequence[Any]) -> list[Any]:
        """In the order of the body's residuals, what it gets for both groups."""
        return [fixed[i] if is_fixed else per_step[i] for is_fixed, i in self.places]


def _split_body(
    jaxpr: ClosedJaxpr, nonzeros: Sequence[bool], num_consts: int, num_carry: int
) -> tuple[LinearizedJaxpr, list[bool]]:
    """The body as values and linear part, and which carries have a tangent: those that get one in any step."""
    consts_nz, init_nz, xs_nz = parts(nonzeros, num_consts, num_carry)
    ys = len(jaxpr.out_avals) - num_carry

    def split(carry_nz: Sequence[bool]) -> LinearizedJaxpr:
        return linearize_jaxpr(jaxpr, [*consts_nz, *carry_nz, *xs_nz], [*carry_nz, *(False,) * ys])

    carry_nz = fixpoint(init_nz, lambda nz: split(nz).nonzero_out[:num_carry])
    return split(carry_nz), carry_nz


def _run_values(
    split: LinearizedJaxpr, primals: Sequence[Any], num_consts: int, num_carry: int, **params: Any
) -> tuple[list[Any], _Residuals]:
    """Run the loop of the values; its results, and the residuals.

    A residual is a constant of the loop or comes of constants alone, or is a slice of xs or of ys, or something that the loop
    stacks. A carry that is needed as it enters a step is stacked too: the loop's body then gives it back.
    """
    first_x, count = num_consts + num_carry, len(split.nonzero_out)
    carried = sorted({s for s in split.sources if s is not None and num_consts <= s < first_x})
    kept = _residual_places(split.primal, num_consts, num_carry, count)
    results = scan_p.bind(
        *primals,
        jaxpr=_giving_inputs(kept.forward, tuple(carried)),
        num_consts=num_consts,
        num_carry=num_carry,
        **params,
    )
    extra = len(kept.forward.out_avals)
    outs = results[:count]
    # A body with effects has nothing hoisted, and must not be run once more.
    hoisted = (
        eval_closed(kept.hoisted, *(c for c, n in zip(primals, kept.needed, strict=True) if n))
        if kept.hoisted.out_avals
        else []
    )
    computed = {"hoisted": hoisted, "y": outs, "stacked": results[count:extra]}
    entering = dict(zip(carried, results[extra:], strict=True))
    residuals = _Residuals()
    places = iter(kept.places)
    for source in split.sources:
        if source is None:
            kind, index = next(places)
            residuals.add(computed[kind][index], kind == "hoisted")
        else:
            residuals.add(entering.get(source, primals[source]), source < num_consts)
    return list(outs), residuals


def _run_linear(
    linear: ClosedJaxpr, residuals: _Residuals, given: _Tangents, **params: Any
) -> list[Any]:
    """Run the linear loop: tangents of the results that have one."""
    operands = [residuals.fixed, given.consts, given.init, residuals.per_step, given.xs]
    sizes = [len(group) for group in operands]

    def order(args: Sequence[Any]) -> list[Any]:
        fixed, consts_dot, init_dot, per_step, xs_dot = in_groups(args, sizes)
        return [*residuals.of_body(fixed, per_step), *consts_dot, *init_dot, *xs_dot]

    found: list[Any] = scan_p.bind(
        *itertools.chain(*operands),
        jaxpr=_reordered((*residuals.places, len(given.consts), len(given.init)), linear, order),
        num_consts=len(residuals.fixed) + len(given.consts),
        num_carry=len(given.init),
        **params,
    )
    return found


@rules.define(linearize_rule, scan_p)
def _scan_linearize(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    nonzeros = [type(t) is not Zero for t in tangents]
    split, carry_nz = _split_body(jaxpr, nonzeros, num_consts, num_carry)
    outs, residuals = _run_values(split, primals, num_consts, num_carry, **params)
    given = _nonzero_tangents(tangents, carry_nz, num_consts, num_carry)
    found = _run_linear(split.linear, residuals, given, **params)
    return outs, with_zeros(found, split.nonzero_out, map(aval_of, outs))
