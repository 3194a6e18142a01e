"""Loops and branches carry the error along.

A loop goes on after a failure, as it would without checks. The condition of a loop is checked before the loop, and after each
step for the step that follows.
"""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.experimental.checkify.tracing import CheckTrace, error_check, without_checks
from plugjax.extend.core import ClosedJaxpr, aval_of, eval_closed, memoise
from plugjax.extend.rules import RuleSet
from plugjax.extend.transforms import stage

rules = RuleSet(__name__)


@rules.define(error_check, lax.cond_p)
def _cond(
    checks: CheckTrace,
    index: Any,
    *operands: Any,
    branches: tuple[ClosedJaxpr, ...],
    **params: Any,
) -> list[Any]:
    checked = checks.settle(*branches)
    if checked is None:
        return lax.cond_p.bind(index, *operands, branches=branches, **params)
    programs = tuple(each.program for each in checked)
    outs = lax.cond_p.bind(index, *checks.leaves, *operands, branches=programs, **params)
    return checks.receive(outs, *checked)


@rules.define(error_check, lax.scan_p)
def _scan(
    checks: CheckTrace,
    *operands: Any,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> list[Any]:
    checked = checks.settle(jaxpr, at=num_consts)
    if checked is None:
        return lax.scan_p.bind(
            *operands, jaxpr=jaxpr, num_consts=num_consts, num_carry=num_carry, **params
        )
    leaves = checks.leaves
    outs = lax.scan_p.bind(
        *operands[:num_consts],
        *leaves,
        *operands[num_consts:],
        jaxpr=checked[0].program,
        num_consts=num_consts,
        num_carry=len(leaves) + num_carry,
        **params,
    )
    return checks.receive(outs, *checked)


@rules.define(error_check, lax.while_p)
def _while(
    checks: CheckTrace,
    *operands: Any,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
    **params: Any,
) -> list[Any]:
    split = cond_nconsts + body_nconsts
    cond_consts, init = operands[:cond_nconsts], operands[split:]
    step = _with_next_condition(cond_jaxpr, body_jaxpr, cond_nconsts)
    if checks.derive(step).silent:
        return lax.while_p.bind(
            *operands,
            cond_jaxpr=cond_jaxpr,
            body_jaxpr=body_jaxpr,
            cond_nconsts=cond_nconsts,
            body_nconsts=body_nconsts,
            **params,
        )
    before = checks.derive(cond_jaxpr)
    if not before.silent:
        checks.receive(eval_closed(before.program, *checks.leaves, *cond_consts, *init), before)
    checked = checks.settle(step, at=split)
    assert checked is not None
    leaves = checks.leaves
    stop = cond_nconsts + len(leaves)
    test = without_checks(cond_jaxpr)

    def cond(*xs: Any) -> list[Any]:
        return eval_closed(test, *xs[:cond_nconsts], *xs[stop:])

    avals = [*cond_jaxpr.in_avals[:cond_nconsts], *map(aval_of, leaves)]
    avals += cond_jaxpr.in_avals[cond_nconsts:]
    outs = lax.while_p.bind(
        *cond_consts,
        *operands[:split],
        *leaves,
        *init,
        cond_jaxpr=memoise(
            cond_jaxpr,
            ("checkify condition", checks.kinds, cond_nconsts),
            lambda: stage(cond, avals, "checkify(while_loop)"),
        ),
        body_jaxpr=checked[0].program,
        cond_nconsts=cond_nconsts,
        body_nconsts=split,
        **params,
    )
    return checks.receive(outs, *checked)


def _with_next_condition(
    cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int
) -> ClosedJaxpr:
    """The body, which computes the condition of the next step too; it takes the constants of the condition first."""

    def step(*xs: Any) -> list[Any]:
        carry = eval_closed(body_jaxpr, *xs[cond_nconsts:])
        eval_closed(cond_jaxpr, *xs[:cond_nconsts], *carry)
        return carry

    avals = [*cond_jaxpr.in_avals[:cond_nconsts], *body_jaxpr.in_avals]
    found: ClosedJaxpr = memoise(
        body_jaxpr,
        ("checkify step", cond_jaxpr, cond_nconsts),
        lambda: stage(step, avals, "checkify(while_loop)"),
    )
    return found
