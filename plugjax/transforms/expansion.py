"""What a call-like equation stands for: the rule kind ``expand``.

A call holds a program, or a Python function that has not been traced yet. A transformation that the call is about (a custom
derivative, a checkpoint) has a rule for it. Every other interpreter computes what it stands for: the evaluator and the tape run
it under the current trace, and programs are compiled with it in the equation's place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from plugjax.core import registry
from plugjax.core.jaxpr import ClosedJaxpr, JaxprEqn, eval_closed
from plugjax.core.rules import RuleKind
from plugjax.transforms.staging import stage

Callee: TypeAlias = ClosedJaxpr | Callable[..., Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Kept:
    """What an equation stands for that backends have rules for, so that it stays one equation.

    Attributes:
        callee: the program or function.
        inline: whether a small program takes the equation's place when programs are simplified.
    """

    callee: Callee
    inline: bool = True


expand_rule: RuleKind[Callable[..., Callee | Kept]] = RuleKind(
    "expand",
    "(**params) -> the program or function of the operands that the equation stands for; Kept(it) if backends have rules "
    "for the equation",
)


def computed(callee: Callee, args: Sequence[Any]) -> list[Any]:
    """The results of what an equation stands for, under the current trace."""
    if isinstance(callee, ClosedJaxpr):
        return eval_closed(callee, *args)
    return list(callee(*args))


def call_words(eqn: JaxprEqn) -> str:
    """An equation in messages: ``jit(f)`` if it stands for a function with a name, else its primitive's name."""
    name = eqn.params.get("name")
    if isinstance(name, str) and eqn.primitive in registry.table(expand_rule):
        return f"{eqn.primitive.name}({name})"
    return eqn.primitive.name


def expanded(found: Callee | Kept, eqn: JaxprEqn) -> ClosedJaxpr:
    """What an equation stands for, as a program.

    Args:
        found: what the rule of its primitive gave.
        eqn: the equation.
    """
    callee = found.callee if isinstance(found, Kept) else found
    if isinstance(callee, ClosedJaxpr):
        return callee
    return stage(callee, [v.aval for v in eqn.invars], eqn.primitive.name)
