"""Control flow as Python loops on arrays; bodies are generated functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend.calls import jit_p
from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.control_flow import cond_p, linear_solve_p, platform_branch, scan_p, while_p
from plugjax_numpy.codegen import host_function
from plugjax_numpy.kernels import Value

rules = RuleSet(__name__)


@rules.define(impl, jit_p)
def _jit(*args: Value, jaxpr: ClosedJaxpr, name: str) -> Sequence[Value]:
    return host_function(jaxpr)(*args)


@rules.define(impl, cond_p)
def _cond(
    index: Value,
    *operands: Value,
    branches: tuple[ClosedJaxpr, ...],
    branches_platforms: Any = None,
) -> Sequence[Value]:
    chosen = min(max(int(index), 0), len(branches) - 1)
    if branches_platforms is not None:
        chosen = platform_branch(branches_platforms, "numpy", "cpu")
    return host_function(branches[chosen])(*operands)


@rules.define(impl, while_p)
def _while(
    *args: Value,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Sequence[Value]:
    split = cond_nconsts + body_nconsts
    cond_consts, body_consts = args[:cond_nconsts], args[cond_nconsts:split]
    carry: Sequence[Value] = args[split:]
    cond, body = host_function(cond_jaxpr), host_function(body_jaxpr)
    while cond(*cond_consts, *carry)[0]:
        carry = body(*body_consts, *carry)
    return carry


@rules.define(impl, scan_p)
def _scan(
    *args: Value,
    jaxpr: ClosedJaxpr,
    length: int,
    reverse: bool,
    unroll: int,
    num_consts: int,
    num_carry: int,
) -> Sequence[Value]:
    split = num_consts + num_carry
    consts, xs = args[:num_consts], args[split:]
    carry: Sequence[Value] = args[num_consts:split]
    body = host_function(jaxpr)
    stacked: list[Any] = [
        np.empty((length, *aval.shape), aval.dtype) for aval in jaxpr.out_avals[num_carry:]
    ]
    for i in range(length - 1, -1, -1) if reverse else range(length):
        outs = body(*consts, *carry, *[x[i] for x in xs])
        carry = outs[:num_carry]
        for y, value in zip(stacked, outs[num_carry:], strict=True):
            y[i] = value
    return [*carry, *stacked]


@rules.define(impl, linear_solve_p)
def _linear_solve(
    *args: Value, const_lengths: tuple[int, ...], jaxprs: tuple[ClosedJaxpr, ...]
) -> Sequence[Value]:
    matvec, vecmat, solve, transpose_solve = const_lengths
    start = matvec + vecmat
    operands = (*args[start : start + solve], *args[start + solve + transpose_solve :])
    return host_function(jaxprs[2])(*operands)
