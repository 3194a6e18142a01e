"""In which kind of memory the results of a program are: that of the operands, which must be one, unless ``device_put`` says another.

The kind ``"pinned_host"`` is told from the others; values in ``"unpinned_host"`` give results in the device's own memory, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import registry
from plugjax.core.device import Placement, Sharding
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var, memoise, programs_in
from plugjax.core.rules import RuleKind

HOST = "pinned_host"

memory_rule: RuleKind[Callable[[Sequence[str], JaxprEqn], Sequence[str]]] = RuleKind(
    "memory", "(kinds of memory of the operands, eqn) -> that of each result"
)


def kind_of(sharding: Sharding | None) -> str:
    """``"pinned_host"``, or ``"device"`` for all other kinds."""
    return HOST if sharding is not None and sharding.memory_kind == HOST else "device"


def common_kind(who: str, kinds: Sequence[str], words: Sequence[str]) -> str:
    """The kind of the operands of an operation.

    Raises:
        ValueError: they are of several.
    """
    if len(set(kinds)) > 1:
        first = next(w for k, w in zip(kinds, words, strict=True) if k == HOST)
        other = next(w for k, w in zip(kinds, words, strict=True) if k != HOST)
        raise ValueError(
            f"memory_space of all inputs passed to `{who}` must be the same. Got one operand in {HOST}: {first}, and another in the memory of "
            f"its device: {other}. Move one of them with plugjax.device_put."
        )
    return kinds[0] if kinds else "device"


def usual(placement: Placement) -> Placement:
    """Where results of operands at a placement are: in another kind of memory only if that is the pinned one."""
    sharding = placement.sharding
    if sharding.memory_kind in ("device", HOST):
        return placement
    found: Placement = sharding.with_memory_kind("device").committed
    return found


def names_kinds(jaxpr: ClosedJaxpr) -> bool:
    """Whether a program has an operation that moves values between kinds of memory; memoised."""

    def find() -> bool:
        table = registry.table(memory_rule)
        return any(
            eqn.primitive in table or any(map(names_kinds, programs_in(eqn.params)))
            for eqn in jaxpr.eqns
        )

    found: bool = memoise(jaxpr, "kinds of memory", find)
    return found


def result_kinds(jaxpr: ClosedJaxpr, kinds: Sequence[str]) -> list[str]:
    """The kinds of memory of a program's results.

    Args:
        jaxpr: the program.
        kinds: those of its arguments.

    Raises:
        ValueError: an operation has operands of several.
    """
    if HOST not in kinds and not names_kinds(jaxpr):
        return ["device"] * len(jaxpr.out_avals)
    table = registry.table(memory_rule)
    env: dict[Var, str] = dict(zip(jaxpr.jaxpr.invars, kinds, strict=True))
    for eqn in jaxpr.eqns:
        operands = [v for v in eqn.invars if not isinstance(v, Literal)]
        held = [env.get(v, "device") for v in operands]
        rule = table.get(eqn.primitive)
        inner = list(programs_in(eqn.params))
        if rule is not None:
            found: Sequence[str] = rule([_held(env, v) for v in eqn.invars], eqn)
        elif len(inner) == 1 and len(inner[0].in_avals) == len(eqn.invars):
            found = result_kinds(inner[0], [_held(env, v) for v in eqn.invars])
        elif inner:
            found = ()
        else:
            words = [v.aval.str_short() for v in operands]
            found = [common_kind(eqn.primitive.name, held, words)] * len(eqn.outvars)
        env.update(zip(eqn.outvars, found, strict=False))
    return [_held(env, v) for v in jaxpr.jaxpr.outvars]


def _held(env: dict[Var, str], atom: Any) -> str:
    return "device" if isinstance(atom, Literal) else env.get(atom, "device")
