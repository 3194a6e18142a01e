"""The lowering rules of a program, with copies for updates in the rules of other plugins.

IREE updates a value without later users in place, even if another value shares its buffer. The rules of this package copy what they update;
those of other plugins may not, so the copies are inserted here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend import registry
from plugjax.extend.core import ClosedJaxpr, Primitive
from plugjax.extend.rules import lowering
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.outlining import Outlining
from plugjax_iree.workarounds.copies import CLONE, UPDATES
from plugjax_iree.workarounds.foreign import is_foreign
from plugjax_iree.workarounds.updated_values import to_update


class GuardedRules:
    """The active lowering rules; updates in those of other plugins work on copies.

    Args:
        jaxpr: the program; long lowerings that it needs many times become functions.
    """

    def __init__(self, jaxpr: ClosedJaxpr | None = None) -> None:
        self._outlining = None if jaxpr is None else Outlining(jaxpr)
        self._table = registry.table(lowering, "iree")
        self._guarded: dict[Primitive, Callable[..., Any]] = {}

    def get(self, primitive: Primitive) -> Callable[..., Any] | None:
        """The rule of a primitive, if there is one."""
        rule = self._guarded.get(primitive)
        if rule is None:
            rule = self._table.find(primitive)
            if rule is not None:
                rule = _guarded(rule) if is_foreign(primitive) else rule
                if self._outlining is not None and self._outlining.concerns(primitive):
                    rule = self._outlining.rule(rule)
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
    """Let each update that a rule emitted, in the block of its results, work on a copy."""
    pending, seen = list(results), set(operands)
    while pending:
        value = pending.pop()
        operation: Any = getattr(value, "owner", None)
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
