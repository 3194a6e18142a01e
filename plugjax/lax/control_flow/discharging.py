"""Loops and branches on the values of references.

What a loop writes is a carry of the loop; what a branch may write is a result of every branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import ClosedJaxpr, eval_closed, memoise
from plugjax.extend.rules import RuleSet, discharge_rule
from plugjax.extend.transforms import discharged, stage
from plugjax.lax.control_flow.cond import cond_p
from plugjax.lax.control_flow.scan import parts, scan_p
from plugjax.lax.control_flow.while_loop import while_p

rules = RuleSet(__name__)

_Values = tuple[list[Any], list[Any]]


def _chosen(values: Sequence[Any], flags: Sequence[bool], wanted: bool) -> list[Any]:
    return [x for x, flag in zip(values, flags, strict=True) if flag == wanted]


def _merged(flags: Sequence[bool], marked: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Values in their order, of those that are marked and those that are not."""
    first, second = iter(marked), iter(others)
    return [next(first) if flag else next(second) for flag in flags]


@rules.define(discharge_rule, scan_p)
def _scan(
    marked: Sequence[bool],
    operands: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> _Values:
    consts_m, carry_m, xs_m = parts(marked, num_consts, num_carry)
    if any(carry_m):
        raise TypeError("lax.scan: a reference is no carry. Close over it, or read it: ref[...].")
    consts, carry, xs = parts(operands, num_consts, num_carry)
    held, sliced = sum(consts_m), sum(xs_m)
    fixed = num_consts - held

    def make() -> ClosedJaxpr:
        pure = discharged(jaxpr, marked)

        def body(*args: Any) -> list[Any]:
            stay, rest = args[:fixed], args[fixed:]
            own, values, x = (
                rest[:num_carry],
                rest[num_carry : num_carry + held],
                rest[num_carry + held :],
            )
            outs = eval_closed(pure, *_merged(consts_m, values, stay), *own, *x)
            count = len(jaxpr.out_avals)
            ys, news = outs[num_carry:count], outs[count:]
            return [*outs[:num_carry], *news[:held], *ys, *news[held:]]

        avals = parts(pure.in_avals, num_consts, num_carry)
        given = [
            *_chosen(avals[0], consts_m, False),
            *avals[1],
            *_chosen(avals[0], consts_m, True),
            *avals[2],
        ]
        return stage(body, given, jaxpr.jaxpr.debug_name)

    program = memoise(jaxpr, ("discharged scan", num_consts, num_carry, *marked), make)
    outs = scan_p.bind(
        *_chosen(consts, consts_m, False),
        *carry,
        *_chosen(consts, consts_m, True),
        *xs,
        jaxpr=program,
        num_consts=fixed,
        num_carry=num_carry + held,
        **params,
    )
    split = num_carry + held
    ys = outs[split : len(outs) - sliced]
    return [*outs[:num_carry], *ys], [*outs[num_carry:split], *outs[len(outs) - sliced :]]


@rules.define(discharge_rule, cond_p)
def _cond(
    marked: Sequence[bool],
    operands: Sequence[Any],
    *,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> _Values:
    programs = tuple(discharged(branch, marked[1:]) for branch in branches)
    outs = cond_p.bind(*operands, branches=programs, **params)
    count = len(branches[0].out_avals)
    return outs[:count], outs[count:]


@rules.define(discharge_rule, while_p)
def _while(
    marked: Sequence[bool],
    operands: Sequence[Any],
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> _Values:
    split = cond_nconsts + body_nconsts
    consts_m = marked[cond_nconsts:split]
    if any(marked[split:]):
        raise TypeError(
            "lax.while_loop: a reference is no carry. Close over it, or read it: ref[...]."
        )
    if any(marked[:cond_nconsts]):
        raise ValueError(
            "lax.while_loop: the condition reads a reference. Read it in the body, and carry what the condition needs."
        )
    consts, init = operands[cond_nconsts:split], operands[split:]
    held, count = sum(consts_m), len(init)
    fixed = body_nconsts - held

    def body_program() -> ClosedJaxpr:
        pure = discharged(body_jaxpr, [*consts_m, *(False,) * count])

        def body(*args: Any) -> list[Any]:
            stay, own, values = args[:fixed], args[fixed : fixed + count], args[fixed + count :]
            return eval_closed(pure, *_merged(consts_m, values, stay), *own)

        avals, own = pure.in_avals[:body_nconsts], pure.in_avals[body_nconsts:]
        given = [*_chosen(avals, consts_m, False), *own, *_chosen(avals, consts_m, True)]
        return stage(body, given, body_jaxpr.jaxpr.debug_name)

    def cond_program() -> ClosedJaxpr:
        def cond(*args: Any) -> list[Any]:
            return eval_closed(cond_jaxpr, *args[: cond_nconsts + count])

        given = [*cond_jaxpr.in_avals, *(x.aval for x in _chosen(consts, consts_m, True))]
        return stage(cond, given, cond_jaxpr.jaxpr.debug_name)

    key = ("discharged while", *consts_m)
    avals_key = (*key, *(x.aval for x in _chosen(consts, consts_m, True)))
    outs = while_p.bind(
        *operands[:cond_nconsts],
        *_chosen(consts, consts_m, False),
        *init,
        *_chosen(consts, consts_m, True),
        cond_jaxpr=memoise(cond_jaxpr, avals_key, cond_program),
        body_jaxpr=memoise(body_jaxpr, key, body_program),
        cond_nconsts=cond_nconsts,
        body_nconsts=fixed,
    )
    return outs[:count], outs[count:]
