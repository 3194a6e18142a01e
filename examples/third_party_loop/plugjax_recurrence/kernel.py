"""The host kernel: a loop in Python over the body, compiled by the NumPy backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend import RuleSet, impl, memoise
from plugjax.extend.backend import get_backend
from plugjax_recurrence.recurrence import Loop, recurrence_p

rules = RuleSet(__name__)


@rules.define(impl, recurrence_p)
def _recurrence(*args: Any, **params: Any) -> list[Any]:
    loop = Loop(**params)
    consts, carry, xs = loop.parts(args)
    host = get_backend("numpy")
    body = memoise(
        loop.jaxpr,
        "recurrence on the host",
        lambda: host.compile(loop.jaxpr, host.devices()[0], {}),
    )
    stacks = [
        np.empty((loop.length, *a.shape), a.dtype) for a in loop.jaxpr.out_avals[loop.num_carry :]
    ]
    steps = range(loop.length)
    for i in reversed(steps) if loop.reverse else steps:
        outs = body.run([*consts, *carry, *(x[i] for x in xs)])
        carry = outs[: loop.num_carry]
        for stack, y in zip(stacks, outs[loop.num_carry :], strict=True):
            stack[i] = y
    return [*carry, *stacks]
