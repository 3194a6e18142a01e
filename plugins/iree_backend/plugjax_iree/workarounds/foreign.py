"""Primitives whose lowering comes from another plugin: what they do with memory is not known.

IREE updates a value without later users in place, even an argument of the program, and returns an operand's buffer if nothing is computed.
The lowering of another plugin may cause both: its results may be its operands (`shared_results`), and it may write into them
(`overwritten_arguments`).
"""

from __future__ import annotations

from plugjax.extend import registry
from plugjax.extend.core import Primitive
from plugjax.extend.rules import lowering

_OWN = ("plugjax.", "plugjax_iree.")


def is_foreign(primitive: Primitive) -> bool:
    """Whether another plugin lowers a primitive, or no plugin does."""
    rule = registry.active().rule(lowering, primitive, "iree")
    return rule is None or not rule.module.startswith(_OWN)
