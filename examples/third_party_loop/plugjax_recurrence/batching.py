"""Batching of a recurrence: one loop whose body works on all instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from plugjax.extend import Axis, ClosedJaxpr, RuleSet, batching_rule
from plugjax.extend.core import moveaxis
from plugjax.extend.transforms import batch_jaxpr, materialize
from plugjax_recurrence.recurrence import Loop, fixpoint, recurrence_p

rules = RuleSet(__name__)


@rules.define(batching_rule, recurrence_p)
def _recurrence_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[int | None]]:
    loop = Loop(**params)
    consts_b, init_b, xs_b = loop.parts([d is not None for d in dims])
    ys = [False] * (len(loop.jaxpr.out_avals) - loop.num_carry)

    def batched(carry_b: Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
        return batch_jaxpr(loop.jaxpr, axis, [*consts_b, *carry_b, *xs_b], [*carry_b, *ys])

    # A carry that has the batch axis in any step has it from the start.
    carry_b = fixpoint(init_b, lambda flags: batched(flags)[1][: loop.num_carry])
    body, out_b = batched(carry_b)
    consts, init, xs = (
        list(zip(values, places, strict=True))
        for values, places in zip(loop.parts(args), loop.parts(dims), strict=True)
    )
    outs = replace(loop, jaxpr=body).bind(
        [
            *(x if d is None else moveaxis(x, d, 0) for x, d in consts),
            *(materialize(x, d, axis) if b else x for (x, d), b in zip(init, carry_b, strict=True)),
            # Axis 0 is the loop's: each slice has its batch axis in front.
            *(x if d is None else moveaxis(x, d, 1) for x, d in xs),
        ]
    )
    n = loop.num_carry
    return outs, [*(0 if b else None for b in out_b[:n]), *(1 if b else None for b in out_b[n:])]
