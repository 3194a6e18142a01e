"""Operators of arrays on the fast path: the evaluator keeps the host program of an operator with operands of given avals.

``x * 0.5`` promotes, converts, checks and binds; which primitives that comes to depends on avals and on the type of a number,
never on values. Under any other trace, and for operands of other types, an operator takes the general path.

Only operators whose program does not depend on values stand here: ``x ** 2`` and ``x // y`` do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from plugjax.core import above
from plugjax.core.device import Placement
from plugjax.core.operators import ArrayOperators, methods
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
        try:
            run = trace.programs.get(key)
            return run(self, other) if run else trace.operate(key, general, self, other)
        except Exception:
            above.shorten_traceback()
            raise

    operator.__name__ = name
    return cast("_F", operator)


def _unary(general: _F) -> _F:
    name = general.__name__

    def operator(self: Any) -> Any:
        trace = state.trace
        key = (name, self.aval, self._placement)
        try:
            run = trace.programs.get(key)
            return run(self) if run else trace.operate(key, general, self)
        except Exception:
            above.shorten_traceback()
            raise

    operator.__name__ = name
    return cast("_F", operator)


def _general(operator: Callable[..., Any]) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return operator(self, *args, **kwargs)
        except Exception:
            above.shorten_traceback()
            raise

    call.__name__ = operator.__name__
    return call


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

    def __getitem__(self, index: Any) -> Any:
        try:
            return methods.getitem(self, index)
        except Exception:
            above.shorten_traceback()
            raise


for _name in ("floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod", "pow", "rpow", "rmatmul", "rand", "ror", "rxor",
    "lshift", "rlshift", "rshift", "rrshift", "pos", "round", "setitem", "array_ufunc", "array_function", "iter", "contains", "len"):  # fmt: skip
    setattr(EagerOperators, f"__{_name}__", _general(getattr(ArrayOperators, f"__{_name}__")))
