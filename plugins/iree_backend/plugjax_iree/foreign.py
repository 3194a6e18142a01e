"""Primitives whose lowering comes from another plugin: what they make of memory is not known.

IREE updates in place what nothing reads afterwards, an argument of the program too, and gives an operand's buffer back where nothing is
computed. The tables of this package say which primitives of ``lax`` do so. Of a rule from outside anything is expected: it may give
its operands back (``aliasing.py``), write into them (``overwriting.py``), and update what others read, which is prevented here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.core import Primitive, lowering, registry
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.copies import CLONE, UPDATES, to_update

_OWN = ("plugjax.", "plugjax_iree.")


def is_foreign(primitive: Primitive) -> bool:
    """Whether another plugin lowers a primitive, or nobody does."""
    rule = registry.active().rule(lowering, primitive, "iree")
    return rule is None or not rule.module.startswith(_OWN)


class GuardedRules:
    """The lowering rules in force; those from outside are kept from updating what others read."""

    def __init__(self) -> None:
        self._table = registry.table(lowering, "iree")
        self._guarded: dict[Primitive, Callable[..., Any]] = {}

    def get(self, primitive: Primitive) -> Callable[..., Any] | None:
        """The rule of a primitive, if there is one."""
        rule = self._guarded.get(primitive)
        if rule is None:
            rule = self._table.find(primitive)
            if rule is not None:
                rule = _guarded(rule) if is_foreign(primitive) else rule
                self._guarded[primitive] = rule
        return rule

    find = get


def _guarded(rule: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(ctx: EqnContext, *operands: Value, **params: Any) -> Any:
        found = rule(ctx, *operands, **params)
        results = found if isinstance(found, (list, tuple)) else [found]
        _copy_what_is_updated(ctx, results, operands)
        return found

    return guarded


def _copy_what_is_updated(ctx: EqnContext, results: Any, operands: tuple[Value, ...]) -> None:
    """Let each update that a rule wrote, in the block of its results, work on a value of its own."""
    pending, seen = list(results), set(operands)
    while pending:
        value = pending.pop()
        operation = getattr(value, "owner", None)
        if value in seen or getattr(operation, "name", None) is None:
            continue
        seen.add(value)
        pending.extend(operation.operands)
        if operation.name not in UPDATES:
            continue
        target = operation.operands[0]
        if getattr(target.owner, "name", None) != CLONE:
            with mlir.before(operation):
                own = to_update(ctx, target)
            operation.operands[0] = own
