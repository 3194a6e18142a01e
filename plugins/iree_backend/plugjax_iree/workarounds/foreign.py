"""Primitives whose lowering comes from another plugin: what they make of memory is not known.

IREE updates in place what nothing reads afterwards, an argument of the program too, and gives an operand's buffer back where nothing is
computed. A rule from outside may do all of that: it may give its operands back (`shared_results`) and write into them
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
