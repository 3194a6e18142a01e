"""Sets of kinds of effects: which kinds a program of the user's says may stand where."""

from __future__ import annotations

from collections.abc import Iterable

from plugjax.core.effects import Effect


class EffectTypeSet:
    """Kinds of effects, subclasses among them.

    Example:
        >>> from plugjax.extend.core import Effect
        >>> from plugjax.extend.core.effect_types import EffectTypeSet
        >>> class Logging(Effect): ...
        >>> allowed = EffectTypeSet()
        >>> allowed.add_type(Logging)
        >>> allowed.contains(Logging())
        True
    """

    def __init__(self) -> None:
        self._types: set[type[Effect]] = set()

    def add_type(self, effect_type: type[Effect]) -> None:
        """Count effects of a class, and of those that derive from it, in."""
        self._types.add(effect_type)

    def contains(self, effect: Effect) -> bool:
        """Whether an effect is of a kind in the set."""
        return isinstance(effect, tuple(self._types))

    def filter_in(self, effects: Iterable[Effect]) -> set[Effect]:
        """Those of the effects that are of a kind in the set."""
        return {effect for effect in effects if self.contains(effect)}

    def filter_not_in(self, effects: Iterable[Effect]) -> set[Effect]:
        """Those of the effects that are of no kind in the set."""
        return {effect for effect in effects if not self.contains(effect)}


# Effects have lowerings and stand in loops and branches by themselves here; these sets are kept for programs that add to them.
lowerable_effects = EffectTypeSet()
control_flow_allowed_effects = EffectTypeSet()
