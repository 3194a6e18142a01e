"""Operators of arrays on the fast path: the evaluator keeps the host program of an operator with operands of given avals.

``x * 0.5`` promotes, converts, checks and binds; which primitives that comes to depends on avals and on the type of a number,
never on values. Under any other trace, and for operands of other types, an operator takes the general path.

Only operators whose program does not depend on values stand here: ``x ** 2`` and ``x // y`` do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from plugjax.core.device import Placement
from plugjax.core.operators import ArrayOperators
from plugjax.core.primitive import state

_F = TypeVar("_F", bound=Callable[..., Any])


def _binary(general: _F) -> _F:
    name = general.__name__

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
    return cast("_F", operator)


def _unary(general: _F) -> _F:
    name = general.__name__

    def operator(self: Any) -> Any:
        trace = state.trace
        key = (name, self.aval, self._placement)
        run = trace.programs.get(key)
        if run is not None:
            return run(self)
        return trace.operate(key, general, self)

    operator.__name__ = name
    return cast("_F", operator)


class EagerOperators(ArrayOperators):
    """The operators of concrete arrays."""

    __slots__ = ()

    _placement: Placement

    __add__ = _binary(ArrayOperators.__add__)
    __radd__ = _binary(ArrayOperators.__radd__)
    __sub__ = _binary(ArrayOperators.__sub__)
    __rsub__ = _binary(ArrayOperators.__rsub__)
    __mul__ = _binary(ArrayOperators.__mul__)
    __rmul__ = _binary(ArrayOperators.__rmul__)
    __truediv__ = _binary(ArrayOperators.__truediv__)
    __rtruediv__ = _binary(ArrayOperators.__rtruediv__)
    __matmul__ = _binary(ArrayOperators.__matmul__)
    __and__ = _binary(ArrayOperators.__and__)
    __or__ = _binary(ArrayOperators.__or__)
    __xor__ = _binary(ArrayOperators.__xor__)
    __eq__ = _binary(ArrayOperators.__eq__)
    __ne__ = _binary(ArrayOperators.__ne__)
    __lt__ = _binary(ArrayOperators.__lt__)
    __le__ = _binary(ArrayOperators.__le__)
    __gt__ = _binary(ArrayOperators.__gt__)
    __ge__ = _binary(ArrayOperators.__ge__)
    __neg__ = _unary(ArrayOperators.__neg__)
    __abs__ = _unary(ArrayOperators.__abs__)
    __invert__ = _unary(ArrayOperators.__invert__)
    __hash__ = None
