"""What primitives do with the memory of their operands, as far as their mathematics tell.

A compiler may give an operand's memory to a result where nothing is computed, and may update it in place. The package that owns a
primitive declares this by a rule, so that backends need no lists of primitives. Without a rule anything is possible.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Flag, auto

from plugjax.core import registry
from plugjax.core.jaxpr import JaxprEqn
from plugjax.core.rules import RuleKind


class Storage(Flag):
    """Properties of an equation. None of them: the results are computed, and have memory of their own."""

    MOVES = auto()
    """A result may be an operand: nothing is computed, or a compiler may find that nothing is."""
    WRITES = auto()
    """The first operand is updated in place, if its memory is not needed."""
    LOCAL = auto()
    """Element i of a result is computed of the elements i of operands."""
    WHOLE = auto()
    """The results are computed as a whole before an operation reads them."""


StorageFn = Callable[[JaxprEqn], Storage]
storage: RuleKind[StorageFn] = RuleKind("storage", "(eqn) -> Storage")


def storage_of(eqn: JaxprEqn) -> Storage | None:
    """What an equation does with memory; ``None`` without a rule."""
    rule = registry.table(storage).get(eqn.primitive)
    return None if rule is None else rule(eqn)
