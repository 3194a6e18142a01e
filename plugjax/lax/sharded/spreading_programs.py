"""How results of equations that hold programs are spread, and the values in these programs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from plugjax.extend import registry
from plugjax.extend.calls import (
    checkpoint_p,
    custom_jvp_call_p,
    custom_lin_p,
    custom_vjp_call_p,
    custom_vmap_call_p,
    jit_p,
    linear_call_p,
)
from plugjax.extend.core import ClosedJaxpr, JaxprEqn
from plugjax.extend.meshes import (
    NamedSharding,
    PartitionSpec,
    inner_spread_rule,
    result_shardings,
    spread_by,
    spread_rule,
)
from plugjax.extend.rules import RuleSet, expand_rule
from plugjax.extend.transforms import expanded
from plugjax.lax.composite import composite_p
from plugjax.lax.control_flow.cond import cond_p
from plugjax.lax.control_flow.scan import parts, scan_p
from plugjax.lax.control_flow.while_loop import while_p
from plugjax.lax.sharded.primitive import shard_map_p
from plugjax.lax.sharded.spreading import entries_of

rules = RuleSet(__name__)

Inner = Sequence[tuple[ClosedJaxpr, Sequence[NamedSharding]]]


def _results(program: ClosedJaxpr, operands: Sequence[NamedSharding]) -> list[Any]:
    """How the results of a program are spread, by its operands."""
    if not operands:
        return [None] * len(program.out_avals)
    open_results: list[None] = [None] * len(program.out_avals)
    return result_shardings(program, operands[0].mesh, operands, open_results)


_CALLS = (
    checkpoint_p, composite_p, custom_jvp_call_p, custom_lin_p, custom_vjp_call_p, custom_vmap_call_p, jit_p, linear_call_p,
)  # fmt: skip


def _callee(eqn: JaxprEqn) -> ClosedJaxpr:
    found = registry.table(expand_rule)[eqn.primitive](**eqn.params)
    return expanded(found, eqn)


@rules.define(inner_spread_rule, *_CALLS)
def _inside_call(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> Inner:
    return [(_callee(eqn), operands)] if operands else []


@rules.define(spread_rule, *_CALLS)
def _call(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
    return _results(_callee(eqn), operands)


@rules.define(inner_spread_rule, shard_map_p)
def _inside_shard_map(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> Inner:
    # A device has its parts whole.
    return [
        (eqn.params["jaxpr"], [NamedSharding(eqn.params["mesh"], PartitionSpec())] * len(operands))
    ]


@rules.define(inner_spread_rule, cond_p)
def _inside_branches(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> Inner:
    return [(branch, operands[1:]) for branch in eqn.params["branches"]] if operands[1:] else []


@rules.define(spread_rule, cond_p)
def _branches(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
    found = [_results(branch, operands[1:]) for branch in eqn.params["branches"]]
    ranks = [var.aval.ndim for var in eqn.outvars]
    return [
        functools.reduce(lambda a, b: _joined(a, b, ndim), each)
        for each, ndim in zip(zip(*found, strict=True), ranks, strict=True)
    ]


def _joined(a: Any, b: Any, ndim: int) -> Any:
    """How one value is spread that is to be spread in two ways: the one that cuts it."""
    if a is None or b is None:
        return a or b
    return a if any(a.entries(ndim)) else b


def _carried(
    body: ClosedJaxpr,
    consts: Sequence[NamedSharding],
    init: Sequence[NamedSharding],
    rest: Sequence[NamedSharding],
) -> tuple[list[NamedSharding], list[Any]]:
    """How the carry of a loop is spread in all steps, and the other results of its body."""
    carry, count = list(init), len(init)
    while True:
        found = _results(body, [*consts, *carry, *rest])
        avals = body.out_avals[:count]
        after = [_joined(a, b, v.ndim) for a, b, v in zip(carry, found[:count], avals, strict=True)]
        # A value that is cut stays so, so the carry settles.
        if after == carry:
            return carry, found[count:]
        carry = after


def _scan_parts(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> tuple[Any, Any, Any]:
    """Operands of the body, apart from what steps change: the constants, the first carry, and the slices."""
    consts, init, xs = parts(operands, eqn.params["num_consts"], eqn.params["num_carry"])
    avals = [v.aval for v in eqn.invars[len(operands) - len(xs) :]]
    slices = [
        spread_by(s, entries_of(s, aval.ndim)[1:], aval.shape[1:])
        for s, aval in zip(xs, avals, strict=True)
    ]
    return consts, init, slices


@rules.define(inner_spread_rule, scan_p)
def _inside_scan(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> Inner:
    if not operands:
        return []
    consts, init, slices = _scan_parts(operands, eqn)
    carry, _ = _carried(eqn.params["jaxpr"], consts, init, slices)
    return [(eqn.params["jaxpr"], [*consts, *carry, *slices])]


@rules.define(spread_rule, scan_p)
def _scan(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
    if not operands:
        return [None] * len(eqn.outvars)
    consts, init, slices = _scan_parts(operands, eqn)
    carry, ys = _carried(eqn.params["jaxpr"], consts, init, slices)
    stacked = eqn.outvars[len(init) :]
    return [
        *carry,
        *(
            spread_by(s, [(), *entries_of(s, v.aval.ndim - 1)], v.aval.shape)
            for s, v in zip(ys, stacked, strict=True)
        ),
    ]


def _while_parts(
    operands: Sequence[NamedSharding], eqn: JaxprEqn
) -> tuple[Sequence[NamedSharding], Sequence[NamedSharding], list[NamedSharding]]:
    """How the constants of the condition, those of the body, and the carry are spread."""
    cond_consts, consts, init = parts(
        operands, eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    )
    return cond_consts, consts, _carried(eqn.params["body_jaxpr"], consts, init, [])[0]


@rules.define(inner_spread_rule, while_p)
def _inside_while(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> Inner:
    cond_consts, consts, carry = _while_parts(operands, eqn)
    return [
        (eqn.params["cond_jaxpr"], [*cond_consts, *carry]),
        (eqn.params["body_jaxpr"], [*consts, *carry]),
    ]


@rules.define(spread_rule, while_p)
def _while(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
    return _while_parts(operands, eqn)[2]
