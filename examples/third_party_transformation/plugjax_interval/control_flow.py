"""Programs inside programs: calls, branches and loops.

A branch that is not certain gives the hull of the branches that are possible. In a scan each carry is an interval if it
starts as one or becomes one. A while loop whose condition is not certain may stop after several steps: the loop
continues while the condition is possible, and carries with an uncertain condition are joined into the hull of results.
The loop ends only when the condition is impossible. If the enclosures never make it impossible, the loop does not end;
nor does a mapped loop in which finished instances wait for others with an uncertain condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import ClosedJaxpr, RuleSet, aval_of, jaxpr_as_fun, jit_p, stage
from plugjax.lax.families import scalar
from plugjax_interval.enclosure import (
    Interval,
    enclose_jaxpr,
    flatten_intervals,
    group_intervals,
    interval_rule,
)
from plugjax_interval.logic import hull_of_possible
from plugjax_interval.rounding import is_float

rules = RuleSet(__name__)


def _widths(values: Sequence[Interval]) -> list[bool]:
    return [x.lower is not x.upper for x in values]


def _as_intervals(flat: Sequence[Any], wide: Sequence[bool]) -> list[Interval]:
    grouped = group_intervals(flat, wide)
    return [x if w else Interval(x, x) for x, w in zip(grouped, wide, strict=True)]


def _fixpoint(start: Sequence[bool], step: Callable[[list[bool]], Sequence[bool]]) -> list[bool]:
    flags = list(start)
    while (found := [a or b for a, b in zip(flags, step(flags), strict=True)]) != flags:
        flags = found
    return flags


@rules.define(interval_rule, jit_p)
def _jit(*operands: Interval, jaxpr: ClosedJaxpr, name: str) -> list[Interval]:
    wide = _widths(operands)
    program, wide_out = enclose_jaxpr(jaxpr, wide)
    outs = jit_p.bind(*flatten_intervals(operands, wide), jaxpr=program, name=f"interval({name})")
    return _as_intervals(outs, wide_out)


@rules.define(interval_rule, lax.cond_p)
def _cond(
    index: Interval, *operands: Interval, branches: tuple[ClosedJaxpr, ...], **params: Any
) -> list[Interval]:
    wide = _widths(operands)
    flat = flatten_intervals(operands, wide)
    columns = zip(*(enclose_jaxpr(b, wide)[1] for b in branches), strict=True)
    wide_out = [any(column) for column in columns]
    if index.lower is index.upper:
        programs = tuple(enclose_jaxpr(b, wide, wide_out)[0] for b in branches)
        outs = lax.cond_p.bind(index.lower, *flat, branches=programs, **params)
        return _as_intervals(outs, wide_out)
    everywhere = [True] * len(wide_out)
    results = [
        group_intervals(jaxpr_as_fun(enclose_jaxpr(b, wide, everywhere)[0])(*flat), everywhere)
        for b in branches
    ]
    return [hull_of_possible(index, cases) for cases in zip(*results, strict=True)]


@rules.define(interval_rule, lax.scan_p)
def _scan(
    *operands: Interval, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: Any
) -> list[Interval]:
    stop = num_consts + num_carry
    wide = _widths(operands)
    consts, xs = wide[:num_consts], wide[stop:]
    loose = [False] * (len(jaxpr.out_avals) - num_carry)

    def body(carry: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
        return enclose_jaxpr(jaxpr, [*consts, *carry, *xs], [*carry, *loose])

    carry = _fixpoint(wide[num_consts:stop], lambda flags: body(flags)[1][:num_carry])
    program, wide_out = body(carry)
    outs = lax.scan_p.bind(
        *flatten_intervals(operands, [*consts, *carry, *xs]),
        jaxpr=program,
        num_consts=num_consts + sum(consts),
        num_carry=num_carry + sum(carry),
        **params,
    )
    return _as_intervals(outs, wide_out)


@rules.define(interval_rule, lax.while_p)
def _while(
    *operands: Interval,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
    **params: Any,
) -> list[Interval]:
    split = cond_nconsts + body_nconsts
    wide = _widths(operands)
    of_cond, of_body = wide[:cond_nconsts], wide[cond_nconsts:split]
    carry = _fixpoint(
        wide[split:], lambda flags: enclose_jaxpr(body_jaxpr, [*of_body, *flags], flags)[1]
    )
    cond, (uncertain,) = enclose_jaxpr(cond_jaxpr, [*of_cond, *carry])
    if uncertain:
        carry = [True] * len(carry)
        cond, _ = enclose_jaxpr(cond_jaxpr, [*of_cond, *carry], [True])
    body, _ = enclose_jaxpr(body_jaxpr, [*of_body, *carry], carry)
    cond_consts = flatten_intervals(operands[:cond_nconsts], of_cond)
    body_consts = flatten_intervals(operands[cond_nconsts:split], of_body)
    init = flatten_intervals(operands[split:], carry)
    if not uncertain:
        outs = lax.while_p.bind(
            *cond_consts,
            *body_consts,
            *init,
            cond_jaxpr=cond,
            body_jaxpr=body,
            cond_nconsts=len(cond_consts),
            body_nconsts=len(body_consts),
            **params,
        )
        return _as_intervals(outs, carry)
    n_cond, n_body, n = len(cond_consts), len(body_consts), len(init)
    holds, step = jaxpr_as_fun(cond), jaxpr_as_fun(body)

    # The carry holds the state, and the hull of the states in which the loop may have stopped,
    # initially empty.
    def possible(*xs: Any) -> list[Any]:
        return holds(*xs[:n_cond], *xs[n_cond : n_cond + n])[1:]

    def go_on(*xs: Any) -> list[Any]:
        given, consts = xs[:n_cond], xs[n_cond : n_cond + n_body]
        state, stopped = xs[n_cond + n_body : n_cond + n_body + n], xs[n_cond + n_body + n :]
        certain, _ = holds(*given, *state)
        joined = zip(stopped, _joined(stopped, state), strict=True)
        return [*step(*consts, *state), *(lax.select(certain, old, new) for old, new in joined)]

    def of(values: Sequence[Any]) -> list[Any]:
        return [aval_of(v) for v in values]

    carried = [*init, *(_empty(v, upper=bool(i % 2)) for i, v in enumerate(init))]
    outs = lax.while_p.bind(
        *cond_consts,
        *cond_consts,
        *body_consts,
        *carried,
        cond_jaxpr=stage(possible, of([*cond_consts, *carried]), "interval(while_loop)"),
        body_jaxpr=stage(go_on, of([*cond_consts, *body_consts, *carried]), "interval(while_loop)"),
        cond_nconsts=n_cond,
        body_nconsts=n_cond + n_body,
        **params,
    )
    return group_intervals(_joined(outs[n:], outs[:n]), carry)


def _empty(like: Any, upper: bool) -> Any:
    """A bound of the empty interval: the largest value as lower bound, the least as upper bound."""
    dtype = aval_of(like).dtype
    if dtype == np.bool_:
        return lax.full_like(like, not upper)
    if is_float(like):
        return lax.full_like(like, scalar(-float("inf") if upper else float("inf"), like))
    info = jnp.iinfo(dtype)
    return lax.full_like(like, scalar(info.min if upper else info.max, like))


def _joined(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Bounds of the hull."""
    pairs = zip(old, new, strict=True)
    return [lax.max(a, b) if i % 2 else lax.min(a, b) for i, (a, b) in enumerate(pairs)]
