"""A recurrence step by step, for the search for nans and for verification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import RuleSet, as_array
from plugjax.extend.rules import replay_rule
from plugjax_recurrence.recurrence import Loop, recurrence_p

rules = RuleSet(__name__)


@rules.define(replay_rule, recurrence_p)
def _recurrence_replay(
    run: Callable[..., list[Any]], args: Sequence[Any], **params: Any
) -> list[Any]:
    loop = Loop(**params)
    consts, carry, xs = loop.parts(args)
    rows: dict[int, Sequence[Any]] = {}
    steps = range(loop.length)
    for i in reversed(steps) if loop.reverse else steps:
        slices = [as_array(np.asarray(x)[i]) for x in xs]
        outs = run(f"recurrence, step {i} of {loop.length}", loop.jaxpr, *consts, *carry, *slices)
        carry, rows[i] = outs[: loop.num_carry], outs[loop.num_carry :]
    stacks = [
        np.stack([np.asarray(rows[i][n]) for i in steps])
        if loop.length
        else np.empty((0, *aval.shape), aval.dtype)
        for n, aval in enumerate(loop.jaxpr.out_avals[loop.num_carry :])
    ]
    return [*carry, *map(as_array, stacks)]
