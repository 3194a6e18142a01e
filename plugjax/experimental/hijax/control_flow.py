"""Loops, branches and programs of one device of values that consist of arrays run on these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import ClosedJaxpr
from plugjax.extend.meshes import PartitionSpec
from plugjax.extend.rules import RuleSet, lowered_rule
from plugjax.extend.transforms import low_avals, lowered
from plugjax.lax.control_flow.cond import cond_p
from plugjax.lax.control_flow.scan import scan_p
from plugjax.lax.control_flow.while_loop import while_p
from plugjax.lax.sharded.primitive import Spec, inside, shard_map_p

rules = RuleSet(__name__)


@rules.define(lowered_rule, scan_p)
def _scan_on_arrays(
    in_avals: Sequence[Any],
    arrays: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    **params: Any,
) -> list[Any]:
    split = num_consts + num_carry
    found: list[Any] = scan_p.bind(
        *arrays,
        jaxpr=lowered(jaxpr),
        num_consts=len(low_avals(in_avals[:num_consts])),
        num_carry=len(low_avals(in_avals[num_consts:split])),
        **params,
    )
    return found


@rules.define(lowered_rule, while_p)
def _while_on_arrays(
    in_avals: Sequence[Any],
    arrays: Sequence[Any],
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> list[Any]:
    split = cond_nconsts + body_nconsts
    found: list[Any] = while_p.bind(
        *arrays,
        cond_jaxpr=lowered(cond_jaxpr),
        body_jaxpr=lowered(body_jaxpr),
        cond_nconsts=len(low_avals(in_avals[:cond_nconsts])),
        body_nconsts=len(low_avals(in_avals[cond_nconsts:split])),
    )
    return found


@rules.define(lowered_rule, cond_p)
def _cond_on_arrays(
    in_avals: Sequence[Any],
    arrays: Sequence[Any],
    *,
    branches: Sequence[ClosedJaxpr],
    **params: Any,
) -> list[Any]:
    found: list[Any] = cond_p.bind(*arrays, branches=tuple(map(lowered, branches)), **params)
    return found


@rules.define(lowered_rule, shard_map_p)
def _shard_map_on_arrays(
    in_avals: Sequence[Any],
    arrays: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    in_specs: Sequence[Spec],
    out_specs: Sequence[Spec],
    **params: Any,
) -> list[Any]:
    with inside(params["mesh"], params["newly_manual_axes"], params["check_vma"]):
        program = lowered(jaxpr)
    found: list[Any] = shard_map_p.bind(
        *arrays,
        jaxpr=program,
        in_specs=_low_specs(in_specs),
        out_specs=_low_specs(out_specs),
        **params,
    )
    return found


def _low_specs(specs: Sequence[Spec]) -> tuple[PartitionSpec, ...]:
    return tuple(low for spec in specs for low in spec.to_lo())
