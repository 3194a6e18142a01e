"""Loops and branches in a replayed program, for the search for nans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.core import ClosedJaxpr, zeros
from plugjax.extend.meshes import with_axis
from plugjax.extend.rules import RuleSet, replay_rule
from plugjax.lax.control_flow.cond import cond_p
from plugjax.lax.control_flow.platform_dependent import Platforms, platform_branch, platform_of
from plugjax.lax.control_flow.python_loops import slices, stack
from plugjax.lax.control_flow.scan import scan_p
from plugjax.lax.control_flow.while_loop import while_p

rules = RuleSet(__name__)

Run = Callable[..., list[Any]]


@rules.define(replay_rule, cond_p)
def _cond_replay(
    run: Run,
    args: Sequence[Any],
    *,
    branches: tuple[ClosedJaxpr, ...],
    branches_platforms: Platforms | None = None,
) -> Sequence[Any]:
    index, *operands = args
    chosen = min(max(int(index), 0), len(branches) - 1)
    if branches_platforms is not None:
        chosen = platform_branch(branches_platforms, *platform_of(operands))
    return run(f"cond, branch {chosen}", branches[chosen], *operands)


@rules.define(replay_rule, while_p)
def _while_replay(
    run: Run,
    args: Sequence[Any],
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Sequence[Any]:
    split = cond_nconsts + body_nconsts
    cond_consts, body_consts, carry = args[:cond_nconsts], args[cond_nconsts:split], args[split:]
    step = 0
    while bool(run(f"while, condition of iteration {step}", cond_jaxpr, *cond_consts, *carry)[0]):
        carry = run(f"while, iteration {step}", body_jaxpr, *body_consts, *carry)
        step += 1
    return carry


@rules.define(replay_rule, scan_p)
def _scan_replay(
    run: Run,
    args: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    **_: Any,
) -> Sequence[Any]:
    split = num_consts + num_carry
    consts, carry, xs = args[:num_consts], args[num_consts:split], args[split:]
    rows = [slices(x, length, reverse) for x in xs]
    columns: list[list[Any]] = [[] for _ in jaxpr.out_avals[num_carry:]]
    for step in range(length):
        i = length - 1 - step if reverse else step
        x = [next(row) for row in rows]
        outs = run(f"scan, iteration {i} of {length}", jaxpr, *consts, *carry, *x)
        carry = outs[:num_carry]
        for column, y in zip(columns, outs[num_carry:], strict=True):
            column.append(y)
    if not length:
        empty = [with_axis(a, 0, 0) for a in jaxpr.out_avals[num_carry:]]
        return [*carry, *(zeros(a) for a in empty)]
    return [*carry, *(stack(c[::-1] if reverse else c) for c in columns)]
