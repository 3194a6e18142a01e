"""Effects: what an equation does besides computing its results.

An equation with an effect is kept by dead-code elimination. The rule kind ``effects`` says which effects an equation has;
primitives without such a rule are pure, and primitives with jaxprs as parameters have the effects of those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.core.rules import RuleKind


class Effect:
    """A kind of effect; subclasses are its kinds, instances are compared by class.

    Attributes:
        ordered: whether equations with this effect must run in program order.
    """

    ordered: bool = False

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return type(self).__name__


Effects = frozenset[Effect]
no_effects: Effects = frozenset()

effects_rule: RuleKind[Callable[..., Effects]] = RuleKind(
    "effects", "(**params) -> frozenset of effects"
)


def jaxpr_effects(params: dict[str, Any]) -> Effects:
    """Union of the effects of all jaxprs among equation parameters."""
    from_params: Effects = no_effects
    for value in params.values():
        for item in value if isinstance(value, tuple) else (value,):
            from_params |= getattr(item, "effects", no_effects)
    return from_params
