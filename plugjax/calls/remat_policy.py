"""Splitting a program by a checkpoint policy: what is kept of it, and how the rest is computed again.

The program x -> y becomes x -> (y, s), with the values s that the policy lets be kept, and (x, s) -> y, which computes
again what s does not give. A primitive that runs programs of its own (a loop, a branch, a call) says by a rule of the kind
``remat`` how its equation splits; small calls have been inlined before. Any other equation, one with a derivative of its own
included, is kept or computed as a whole: what it computes inside would be differentiated by other rules.

A rule of the kind ``partial_eval`` is asked before the policy, in JAX's form. Of a program that is differentiated only the part
without tangents is split, so all operands are known, and all are there when values are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from plugjax.core import registry
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from plugjax.core.rules import RuleKind
from plugjax.transforms.dce import prune_closed, prune_outputs
from plugjax.transforms.simplify import simplify

# (primitive, *avals, **params) -> whether the results of the equation may be kept: a bool, or one of the answers below.
Policy = Callable[..., Any]


class RecomputeType:
    """The answer of a policy that results are computed again."""


class SaveableType:
    """The answer of a policy that results are kept."""


class Offloadable(NamedTuple):
    """The answer of a policy that results are kept in other memory; they stay on the device here.

    Attributes:
        src: memory that they are in.
        dst: memory that they are to be kept in.
    """

    src: str
    dst: str


Recompute = RecomputeType()
Saveable = SaveableType()


def keeps(answer: Any) -> bool:
    """Whether an answer of a policy lets results be kept."""
    return answer is True or isinstance(answer, (SaveableType, Offloadable))


@dataclass(frozen=True, slots=True)
class SplitEquation:
    """An equation that keeps some of what it computes inside.

    Attributes:
        forward: the equation with what is kept among its results; ``None`` if it has none, and runs with ``again`` only.
        saved: what is kept: results of ``forward``.
        again: the equation as it is computed again, with ``saved`` among its operands; it must not define these. ``None`` if
            nothing is computed again.
    """

    forward: JaxprEqn | None
    saved: Sequence[Var]
    again: JaxprEqn | None


RematFn = Callable[[Policy, JaxprEqn], SplitEquation | None]
remat_rule: RuleKind[RematFn] = RuleKind(
    "remat", "(policy, eqn) -> SplitEquation, or None if the policy keeps nothing inside"
)

PartialEvalFn = Callable[
    [Policy, Sequence[bool], Sequence[bool], JaxprEqn],
    tuple[JaxprEqn | None, JaxprEqn | None, Sequence[bool], Sequence[bool], Sequence[Var]],
]
partial_eval_rule: RuleKind[PartialEvalFn] = RuleKind(
    "partial_eval",
    "(policy, unknown_in, again_in, eqn) -> (eqn of the first computation or None, eqn of the second or None, "
    "unknown results, results that the second computation gives, values of the first that the second needs)",
)


@dataclass(frozen=True, slots=True)
class SplitProgram:
    """A program split by a policy.

    Attributes:
        forward: ``x -> (y, s)``.
        again: ``(x, s) -> y``.
        saved: the variables of ``forward`` that hold ``s``.
    """

    forward: ClosedJaxpr
    again: ClosedJaxpr
    saved: list[Var]


def _split_equation(policy: Policy, eqn: JaxprEqn) -> SplitEquation:
    told = registry.table(partial_eval_rule).get(eqn.primitive)
    if told is not None:
        return _as_told(told, policy, eqn)
    if keeps(policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)):
        return SplitEquation(eqn, eqn.outvars, None if eqn.outvars else eqn)
    rule = registry.table(remat_rule).get(eqn.primitive)
    split = rule(policy, eqn) if rule is not None else None
    return split or SplitEquation(eqn, [], eqn)


def _as_told(rule: PartialEvalFn, policy: Policy, eqn: JaxprEqn) -> SplitEquation:
    """The equation as a rule of the kind ``partial_eval`` splits it."""
    count = len(eqn.invars)
    first, second, unknown, given, residuals = rule(policy, [False] * count, [True] * count, eqn)
    if any(unknown):
        raise ValueError(
            f"checkpoint: the partial_eval rule of '{eqn.primitive}' gives unknown results of operands that are all known."
        )
    there = {v for v in eqn.invars if type(v) is Var}
    kept = [v for v, g in zip(eqn.outvars, given, strict=True) if not g and type(v) is Var]
    return SplitEquation(first, [v for v in (*residuals, *kept) if v not in there], second)


def split_by_policy(program: ClosedJaxpr, policy: Policy) -> SplitProgram:
    """Split a program, its calls inlined.

    Args:
        program: ``x -> y``.
        policy: what may be kept.
    """
    program = simplify(program, to_compile=False)
    inner = program.jaxpr
    saved: list[Var] = []
    forward: list[JaxprEqn] = []
    again: list[JaxprEqn] = []
    for eqn in inner.eqns:
        split = _split_equation(policy, eqn)
        if split.forward is not None:
            forward.append(split.forward)
        saved.extend(split.saved)
        if split.again is not None:
            again.append(split.again)
    whole = Jaxpr(
        inner.constvars, inner.invars, [*inner.outvars, *saved], forward, inner.debug_name
    )
    rest = Jaxpr(inner.constvars, [*inner.invars, *saved], inner.outvars, again, inner.debug_name)
    return SplitProgram(
        ClosedJaxpr(whole, program.consts), ClosedJaxpr(rest, program.consts), saved
    )


def _nothing(*_: Any, **__: Any) -> bool:
    """The policy that keeps nothing, where rules may keep something all the same."""
    return False


def split_residuals(
    program: ClosedJaxpr, count: int, policy: Policy | None
) -> tuple[ClosedJaxpr, ClosedJaxpr, int]:
    """Split ``x -> (y, r)`` into ``x -> (y, s)`` and ``(x, s) -> r``, with no value among s that r does without.

    Args:
        program: the program.
        count: how many outputs are ``y``.
        policy: what may be kept; ``None`` keeps nothing.

    Returns:
        Both programs, and the number of values kept.
    """
    total = len(program.out_avals)
    residuals = (False,) * count + (True,) * (total - count)
    if policy is None and registry.table(partial_eval_rule):
        policy = _nothing
    if policy is None:
        outputs = tuple(not r for r in residuals)
        return prune_outputs(program, outputs), prune_outputs(program, residuals), 0
    split = split_by_policy(program, policy)
    inputs = len(program.in_avals)
    _, needed = prune_closed(split.again, residuals)
    keep = needed[inputs:]
    again = split.again.jaxpr
    saved = [v for v, k in zip(split.saved, keep, strict=True) if k]
    rest = Jaxpr(
        again.constvars,
        [*again.invars[:inputs], *saved],
        again.outvars,
        again.eqns,
        again.debug_name,
    )
    # Values that are not kept are still among the operands of loops, from where pruning takes them too.
    return (
        prune_outputs(split.forward, (*(not r for r in residuals), *keep)),
        prune_outputs(ClosedJaxpr(rest, split.again.consts), residuals),
        len(saved),
    )
