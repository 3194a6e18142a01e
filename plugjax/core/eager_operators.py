"""Operators of arrays on the fast path: the evaluator keeps the host program of an operator with operands of given avals.

``x * 0.5`` promotes, converts, checks and binds; which primitives that comes to depends on avals and on the type of a number,
never on values. Under any other trace, and for operands of other types, an operator takes the general path.

Only operators whose program does not depend on values stand here: ``x ** 2`` and ``x // y`` do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plugjax.core.operators import ArrayOperators
from plugjax.core.primitive import state

if TYPE_CHECKING:
    from plugjax.core.device import Placement


def _binary(name: str) -> Callable[[Any, Any], Any]:
    general = getattr(ArrayOperators, name)

    def operator(self: Any, other: Any) -> Any:
        trace = state.trace
        kind = type(other)
        key: Any
        if kind is type(self):
            key = (name, self.aval, self._placement, other.aval, other._placement)
        else:
            key = (name, self.aval, self._placement, kind)
        run = trace.programs.get(key)
        if run is not None:
            return run(self, other)
        return trace.operate(key, general, self, other)

    operator.__name__ = name
    return operator


def _unary(name: str) -> Callable[[Any], Any]:
    general = getattr(ArrayOperators, name)

    def operator(self: Any) -> Any:
        trace = state.trace
        key = (name, self.aval, self._placement)
        run = trace.programs.get(key)
        if run is not None:
            return run(self)
        return trace.operate(key, general, self)

    operator.__name__ = name
    return operator


class EagerOperators(ArrayOperators):
    """The operators of concrete arrays."""

    __slots__ = ()

    _placement: Placement

    __add__ = _binary("__add__")
    __radd__ = _binary("__radd__")
    __sub__ = _binary("__sub__")
    __rsub__ = _binary("__rsub__")
    __mul__ = _binary("__mul__")
    __rmul__ = _binary("__rmul__")
    __truediv__ = _binary("__truediv__")
    __rtruediv__ = _binary("__rtruediv__")
    __matmul__ = _binary("__matmul__")
    __and__ = _binary("__and__")
    __or__ = _binary("__or__")
    __xor__ = _binary("__xor__")
    __eq__ = _binary("__eq__")
    __ne__ = _binary("__ne__")
    __lt__ = _binary("__lt__")
    __le__ = _binary("__le__")
    __gt__ = _binary("__gt__")
    __ge__ = _binary("__ge__")
    __neg__ = _unary("__neg__")
    __abs__ = _unary("__abs__")
    __invert__ = _unary("__invert__")
    __hash__ = None
