"""Programs in equations: calls, branches and loops carry the coefficients along.

A derivative that the user states by ``custom_jvp`` is what its series comes of. Of a ``custom_vjp`` function only the function itself can be
pushed forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax import lax
from plugjax.experimental.jet.tracing import (
    Terms,
    by_expansion,
    flatten_terms,
    jet_jaxpr,
    taylor,
    unflatten_terms,
    zero_terms,
)
from plugjax.extend.calls import checkpoint_p, custom_vjp_call_p, custom_vmap_call_p, jit_p
from plugjax.extend.core import ClosedJaxpr, Primitive, aval_of, eval_closed, memoise
from plugjax.extend.rules import RuleSet
from plugjax.extend.transforms import stage

rules = RuleSet(__name__)

Results = tuple[list[Any], list[Terms]]


def _nonzeros(series: Sequence[Terms]) -> list[bool]:
    return [terms is not None for terms in series]


def _fixpoint(start: Sequence[bool], step: Callable[[list[bool]], Sequence[bool]]) -> list[bool]:
    """The least flags above ``start`` that a loop body preserves."""
    flags = list(start)
    while (found := [a or b for a, b in zip(flags, step(flags), strict=True)]) != flags:
        flags = found
    return flags


def _received(outs: Sequence[Any], nonzero_out: Sequence[bool], order: int) -> Results:
    count = len(nonzero_out)
    return list(outs[:count]), unflatten_terms(outs[count:], nonzero_out, order)


def _call(primitive: Primitive) -> None:
    @rules.define(taylor, primitive)
    def _push(
        order: int,
        primals: Sequence[Any],
        series: Sequence[Terms],
        *,
        jaxpr: ClosedJaxpr,
        **params: Any,
    ) -> Results:
        program, nonzero_out = jet_jaxpr(jaxpr, order, _nonzeros(series))
        outs = primitive.bind(*primals, *flatten_terms(series), jaxpr=program, **params)
        return _received(outs, nonzero_out, order)


_call(jit_p)
_call(checkpoint_p)


def _expanding(primitive: Primitive) -> None:
    @rules.define(taylor, primitive)
    def _push(
        order: int, primals: Sequence[Any], series: Sequence[Terms], **params: Any
    ) -> tuple[Any, Any]:
        return by_expansion(primitive, order, primals, series, params)


_expanding(custom_vjp_call_p)
_expanding(custom_vmap_call_p)


@rules.define(taylor, lax.cond_p)
def _cond(
    order: int,
    primals: Sequence[Any],
    series: Sequence[Terms],
    *,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> Results:
    nonzeros = _nonzeros(series[1:])
    each = [jet_jaxpr(branch, order, nonzeros)[1] for branch in branches]
    nonzero_out = [any(flags) for flags in zip(*each, strict=True)]
    programs = tuple(jet_jaxpr(branch, order, nonzeros, nonzero_out)[0] for branch in branches)
    outs = lax.cond_p.bind(*primals, *flatten_terms(series[1:]), branches=programs, **params)
    return _received(outs, nonzero_out, order)


def _started(
    init: Sequence[Any], series: Sequence[Terms], nonzeros: Sequence[bool], order: int
) -> list[Terms]:
    """Series of the first carry: one that gets a series in any step starts with one."""
    return [
        zero_terms(x, order) if nz and terms is None else terms
        for x, terms, nz in zip(init, series, nonzeros, strict=True)
    ]


def _regrouped(
    program: ClosedJaxpr,
    key: Any,
    groups: Sequence[int],
    order_in: Sequence[int],
    out_groups: Sequence[int] = (),
    order_out: Sequence[int] = (),
) -> ClosedJaxpr:
    """A program whose groups of inputs, and of outputs, stand in another order; memoised.

    Args:
        program: its inputs are in groups of the sizes ``groups``, its outputs in those of ``out_groups``.
        key: what the groups depend on.
        groups: sizes of the groups of inputs.
        order_in: the new order of the groups.
        out_groups: sizes of the groups of outputs; left out, they stay.
        order_out: their new order.
    """

    def positions(sizes: Sequence[int], new: Sequence[int]) -> list[int]:
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [starts[g] + i for g in new for i in range(sizes[g])]

    places, out_places = positions(groups, order_in), positions(out_groups, order_out)

    def run(*xs: Any) -> list[Any]:
        args: list[Any] = [None] * len(xs)
        for place, x in zip(places, xs, strict=True):
            args[place] = x
        outs = eval_closed(program, *args)
        return [outs[i] for i in out_places] if out_groups else outs

    found: ClosedJaxpr = memoise(
        program,
        ("jet, regrouped", key),
        lambda: stage(run, [program.in_avals[i] for i in places], program.jaxpr.debug_name),
    )
    return found


@rules.define(taylor, lax.scan_p)
def _scan(
    order: int,
    primals: Sequence[Any],
    series: Sequence[Terms],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> Results:
    stop = num_consts + num_carry
    flags = _nonzeros(series)
    ys = len(jaxpr.out_avals) - num_carry

    def body(carry: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
        nonzeros = [*flags[:num_consts], *carry, *flags[stop:]]
        return jet_jaxpr(jaxpr, order, nonzeros, [*carry, *(False,) * ys])

    carry = _fixpoint(flags[num_consts:stop], lambda nz: body(nz)[1][:num_carry])
    program, nonzero_out = body(carry)
    consts, xs = series[:num_consts], series[stop:]
    init = _started(primals[num_consts:stop], series[num_consts:stop], carry, order)
    terms = [flatten_terms(group) for group in (consts, init, xs)]
    sizes = [num_consts, num_carry, len(primals) - stop, *map(len, terms)]
    out_sizes = [num_carry, ys, sizes[4], order * sum(nonzero_out[num_carry:])]
    program = _regrouped(program, tuple(sizes), sizes, (0, 3, 1, 4, 2, 5), out_sizes, (0, 2, 1, 3))
    outs = lax.scan_p.bind(
        *primals[:num_consts],
        *terms[0],
        *primals[num_consts:stop],
        *terms[1],
        *primals[stop:],
        *terms[2],
        jaxpr=program,
        num_consts=num_consts + sizes[3],
        num_carry=num_carry + sizes[4],
        **params,
    )
    split, last = num_carry + sizes[4], num_carry + sizes[4] + ys
    ordered = [*outs[:num_carry], *outs[split:last], *outs[num_carry:split], *outs[last:]]
    return _received(ordered, nonzero_out, order)


@rules.define(taylor, lax.while_p)
def _while(
    order: int,
    primals: Sequence[Any],
    series: Sequence[Terms],
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
    **params: Any,
) -> Results:
    split = cond_nconsts + body_nconsts
    flags = _nonzeros(series)
    consts = flags[cond_nconsts:split]

    def body(carry: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
        return jet_jaxpr(body_jaxpr, order, [*consts, *carry], carry)

    carry = _fixpoint(flags[split:], lambda nz: body(nz)[1])
    program, _ = body(carry)
    const_terms = flatten_terms(series[cond_nconsts:split])
    init_terms = flatten_terms(_started(primals[split:], series[split:], carry, order))
    sizes = [body_nconsts, len(primals) - split, len(const_terms), len(init_terms)]
    extra = [aval_of(x) for x in init_terms]

    def test(*xs: Any) -> list[Any]:
        return eval_closed(cond_jaxpr, *xs[: len(cond_jaxpr.in_avals)])

    outs = lax.while_p.bind(
        *primals[:split],
        *const_terms,
        *primals[split:],
        *init_terms,
        cond_jaxpr=memoise(
            cond_jaxpr,
            ("jet condition", tuple(extra)),
            lambda: stage(test, [*cond_jaxpr.in_avals, *extra], "jet(while_loop)"),
        ),
        body_jaxpr=_regrouped(program, tuple(sizes), sizes, (0, 2, 1, 3)),
        cond_nconsts=cond_nconsts,
        body_nconsts=body_nconsts + len(const_terms),
        **params,
    )
    return _received(outs, carry, order)
