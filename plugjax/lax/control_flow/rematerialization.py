"""Saving of residuals in loops and branches by a checkpoint policy.

A loop stacks the values that its body may save, and reads them as slices when it runs again; branches that are not
taken save zeros.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from plugjax.extend.calls import Policy, SplitEquation, SplitProgram, split_by_policy
from plugjax.extend.core import ClosedJaxpr, DropVar, JaxprEqn, Var, eval_closed, zeros
from plugjax.extend.meshes import with_axis
from plugjax.extend.rules import RuleSet, remat_rule
from plugjax.extend.transforms import prune_outputs, stage
from plugjax.lax.control_flow.cond import cond_p
from plugjax.lax.control_flow.scan import scan_p

rules = RuleSet(__name__)


@rules.define(remat_rule, scan_p)
def _scan_remat(policy: Policy, eqn: JaxprEqn) -> SplitEquation | None:
    body: ClosedJaxpr = eqn.params["jaxpr"]
    num_carry, length = eqn.params["num_carry"], eqn.params["length"]
    split = split_by_policy(body, policy)
    if not split.saved:
        return None
    count = len(eqn.outvars)
    # Stacked outputs serve as saved values and are not stacked again.
    stacked = {
        v: out
        for v, out in zip(
            split.forward.jaxpr.outvars[num_carry:count], eqn.outvars[num_carry:], strict=True
        )
        if type(out) is Var
    }
    extra = [v not in stacked for v in split.saved]
    saved = [stacked.get(v) or Var(with_axis(v.aval, 0, length)) for v in split.saved]
    forward = eqn.replace(
        outvars=[*eqn.outvars, *(v for v, e in zip(saved, extra, strict=True) if e)],
        params={**eqn.params, "jaxpr": prune_outputs(split.forward, (True,) * count + (*extra,))},
    )
    kept = set(saved)
    again = eqn.replace(
        invars=[*eqn.invars, *saved],
        outvars=[DropVar(v.aval) if v in kept else v for v in eqn.outvars],
        params={**eqn.params, "jaxpr": split.again},
    )
    return SplitEquation(forward, saved, again)


@rules.define(remat_rule, cond_p)
def _cond_remat(policy: Policy, eqn: JaxprEqn) -> SplitEquation | None:
    splits = [split_by_policy(branch, policy) for branch in eqn.params["branches"]]
    # For each branch, the positions of its values among those of all branches.
    ends = [0]
    for split in splits:
        ends.append(ends[-1] + len(split.saved))
    saved = [Var(v.aval) for split in splits for v in split.saved]
    if not saved:
        return None
    own = [slice(a, b) for a, b in itertools.pairwise(ends)]
    forward = tuple(_filled(s, place, saved) for s, place in zip(splits, own, strict=True))
    again = tuple(_choosing(s, place, saved) for s, place in zip(splits, own, strict=True))
    return SplitEquation(
        eqn.replace(outvars=[*eqn.outvars, *saved], params={**eqn.params, "branches": forward}),
        saved,
        eqn.replace(invars=[*eqn.invars, *saved], params={**eqn.params, "branches": again}),
    )


def _filled(split: SplitProgram, own: slice, saved: Sequence[Var]) -> ClosedJaxpr:
    """A branch that returns the values of all branches: zeros for those of others."""

    def call(*args: Any) -> list[Any]:
        found = eval_closed(split.forward, *args)
        count = len(found) - len(split.saved)
        others = [zeros(v.aval) for v in saved]
        others[own] = found[count:]
        return [*found[:count], *others]

    return stage(call, split.forward.in_avals, split.forward.jaxpr.debug_name)


def _choosing(split: SplitProgram, own: slice, saved: Sequence[Var]) -> ClosedJaxpr:
    """A branch that takes the values of all branches."""
    inputs = len(split.forward.in_avals)

    def call(*args: Any) -> list[Any]:
        return eval_closed(split.again, *args[:inputs], *args[inputs:][own])

    avals = [*split.forward.in_avals, *(v.aval for v in saved)]
    return stage(call, avals, split.again.jaxpr.debug_name)
