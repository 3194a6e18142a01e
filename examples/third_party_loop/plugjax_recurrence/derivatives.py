"""Derivatives of a recurrence, which are recurrences.

Forward mode carries tangents along. Reverse mode linearizes: one loop computes the values and stacks what the derivative
needs of each step, a second one is linear in the tangents, and its transpose is a loop that runs the other way. There the
cotangent of the carry is the carry, those of constants are summed, and those of slices are stacked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from plugjax.extend import (
    ClosedJaxpr,
    RuleSet,
    Zero,
    add_any,
    aval_of,
    instantiate,
    is_undefined_primal as is_linear,
    jvp_rule,
    linearize_rule,
    memoise,
    stage,
    transpose_rule,
)
from plugjax.extend.core import eval_closed, zeros
from plugjax.extend.transforms import jvp_jaxpr, linearize_jaxpr, transpose_jaxpr
from plugjax_recurrence.recurrence import Loop, fixpoint, rearranged, recurrence_p

rules = RuleSet(__name__)


def _groups(*sizes: int) -> list[list[int]]:
    """Consecutive numbers in groups of given sizes."""
    ends = list(accumulate(sizes))
    return [list(range(end - size, end)) for end, size in zip(ends, sizes, strict=True)]


def _chosen(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The values whose flag is set."""
    return [x for x, flag in zip(values, flags, strict=True) if flag]


def _placed(values: Sequence[Any], flags: Sequence[bool], avals: Sequence[Any]) -> list[Any]:
    """The next of ``values`` where a flag is set, elsewhere a symbolic zero."""
    given = iter(values)
    return [
        next(given) if flag else Zero(a.to_tangent_aval())
        for flag, a in zip(flags, avals, strict=True)
    ]


def _dots(
    loop: Loop, tangents: Sequence[Any], carry_nz: Sequence[bool]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Tangents that are no zeros: of the constants, of the carry in any step, and of the xs."""
    consts, init, xs = loop.parts(tangents)
    present = [[t for t in group if type(t) is not Zero] for group in (consts, xs)]
    return present[0], [instantiate(t) for t in _chosen(init, carry_nz)], present[1]


@rules.define(jvp_rule, recurrence_p)
def _recurrence_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    loop = Loop(**params)
    consts_nz, init_nz, xs_nz = loop.parts([type(t) is not Zero for t in tangents])
    ys = len(loop.jaxpr.out_avals) - loop.num_carry

    def derived(carry_nz: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
        return jvp_jaxpr(loop.jaxpr, [*consts_nz, *carry_nz, *xs_nz], [*carry_nz, *[False] * ys])

    carry_nz = fixpoint(init_nz, lambda nz: derived(nz)[1][: loop.num_carry])
    body, out_nz = derived(carry_nz)
    consts, init, xs = loop.parts(primals)
    dots = _dots(loop, tangents, carry_nz)
    consts_dot, init_dot, xs_dot = map(len, dots)
    # The body takes all values and then all tangents; the loop wants each tangent beside its value.
    c, s, x, c_dot, s_dot, x_dot = _groups(
        len(consts), len(init), len(xs), consts_dot, init_dot, xs_dot
    )
    carry, y, carry_dot, y_dot = _groups(len(init), ys, init_dot, sum(out_nz[loop.num_carry :]))
    paired = Loop(
        rearranged(body, c + c_dot + s + s_dot + x + x_dot, carry + carry_dot + y + y_dot),
        loop.length,
        loop.reverse,
        len(consts) + consts_dot,
        len(init) + init_dot,
    )
    found = paired.bind([*consts, *dots[0], *init, *dots[1], *xs, *dots[2]])
    n, m = len(init), paired.num_carry
    outs = [*found[:n], *found[m : m + ys]]
    return outs, _placed([*found[n:m], *found[m + ys :]], out_nz, [aval_of(v) for v in outs])


@rules.define(linearize_rule, recurrence_p)
def _recurrence_linearize(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    loop = Loop(**params)
    consts_nz, init_nz, xs_nz = loop.parts([type(t) is not Zero for t in tangents])
    count = len(loop.jaxpr.out_avals)
    ys = [False] * (count - loop.num_carry)

    def split(carry_nz: Sequence[bool]) -> Any:
        return linearize_jaxpr(loop.jaxpr, [*consts_nz, *carry_nz, *xs_nz], [*carry_nz, *ys])

    carry_nz = fixpoint(init_nz, lambda nz: split(nz).nonzero_out[: loop.num_carry])
    found = split(carry_nz)
    # Carries that the derivative needs as they enter a step are stacked beside the residuals.
    first_x = loop.num_consts + loop.num_carry
    entering = [s for s in found.sources if s is not None and loop.num_consts <= s < first_x]
    forward = rearranged(
        found.primal, range(len(primals)), range(len(found.primal.out_avals)), entering
    )
    results = replace(loop, jaxpr=forward).bind(primals)
    extra = len(found.primal.out_avals)
    computed, entered = iter(results[count:extra]), iter(results[extra:])
    fixed, stacked, fixed_at, stacked_at = [], [], [], []
    for place, source in enumerate(found.sources):
        if source is not None and source < loop.num_consts:
            fixed.append(primals[source])
            fixed_at.append(place)
        else:
            stacked_at.append(place)
            if source is None:
                stacked.append(next(computed))
            else:
                stacked.append(next(entered) if source < first_x else primals[source])
    dots = _dots(loop, tangents, carry_nz)
    _, c_dot, s_dot, x_dot = _groups(len(found.sources), *map(len, dots))
    order = [*fixed_at, *c_dot, *s_dot, *stacked_at, *x_dot]
    linear = Loop(
        rearranged(found.linear, order, range(len(found.linear.out_avals))),
        loop.length,
        loop.reverse,
        len(fixed) + len(dots[0]),
        len(dots[1]),
    )
    out_dots = linear.bind([*fixed, *dots[0], *dots[1], *stacked, *dots[2]])
    outs = results[:count]
    return outs, _placed(out_dots, found.nonzero_out, [aval_of(v) for v in outs])


@rules.define(transpose_rule, recurrence_p)
def _recurrence_transpose(cotangents: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    # The loop is linear in its carry: a first carry that is known is a zero, made into an array.
    loop = Loop(**params)
    linear = tuple(is_linear(x) for x in operands)
    consts_lin, init_lin, xs_lin = loop.parts(linear)
    consts, _, xs = loop.parts(operands)
    y_bars = [bar for bar in cotangents[loop.num_carry :] if type(bar) is not Zero]
    y_nz = tuple(type(bar) is not Zero for bar in cotangents[loop.num_carry :])
    known = _chosen(consts, [not lin for lin in consts_lin])
    sums = [zeros(x.aval) for x in _chosen(consts, consts_lin)]
    backward = Loop(
        _backward_body(loop, linear, y_nz),
        loop.length,
        not loop.reverse,
        len(known),
        len(sums) + loop.num_carry,
    )
    found = iter(
        backward.bind(
            [
                *known,
                *sums,
                *map(instantiate, cotangents[: loop.num_carry]),
                *_chosen(xs, [not lin for lin in xs_lin]),
                *y_bars,
            ]
        )
    )
    const_bars = [next(found) if lin else None for lin in consts_lin]
    carry_bars = [next(found) for _ in init_lin]
    return [
        *const_bars,
        *(bar if lin else None for bar, lin in zip(carry_bars, init_lin, strict=True)),
        *(next(found) if lin else None for lin in xs_lin),
    ]


def _backward_body(loop: Loop, linear: Sequence[bool], y_nz: tuple[bool, ...]) -> ClosedJaxpr:
    """The body of the transposed loop.

    Its constants are those that are known. It carries the sums of the cotangents of the others, and the cotangents of the
    carry; it reads slices of the known xs and of the cotangents of ys, and gives those of the other xs.
    """
    consts_lin, _, xs_lin = loop.parts(linear)
    carry = [True] * loop.num_carry
    flags = [*consts_lin, *carry, *xs_lin]

    def make() -> ClosedJaxpr:
        pull, _ = transpose_jaxpr(loop.jaxpr, flags, [*carry, *y_nz], instantiate_out=True)
        const_avals, carry_avals, x_avals = loop.parts(loop.jaxpr.in_avals)
        groups = [
            _chosen(const_avals, [not lin for lin in consts_lin]),
            _chosen(const_avals, consts_lin),
            list(carry_avals),
            _chosen(x_avals, [not lin for lin in xs_lin]),
            _chosen(loop.jaxpr.out_avals[loop.num_carry :], y_nz),
        ]
        places = _groups(*map(len, groups))

        def step(*args: Any) -> list[Any]:
            known, sums, bars, slices, y_bars = ([args[i] for i in place] for place in places)
            found = eval_closed(pull, *known, *slices, *bars, *y_bars)
            added = [add_any(s, bar) for s, bar in zip(sums, found[: len(sums)], strict=True)]
            return [*added, *found[len(sums) :]]

        return stage(step, [aval for group in groups for aval in group], "recurrence backwards")

    made: ClosedJaxpr = memoise(loop.jaxpr, ("backwards", tuple(flags), y_nz), make)
    return made
