"""Operators of arrays on the fast path: the evaluator keeps the host program of an operator with operands of given avals.

``x * 0.5`` promotes, converts, checks and binds; which primitives that comes to depends on avals and on the type of a number,
never on values. Under any other trace, and for operands of other types, an operator takes the general path.

Only operators whose program does not depend on values stand here: ``x ** 2`` and ``x // y`` do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

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

    __hash__ = None

    def __getitem__(self, index: Any) -> Self:
        try:
            found: Self = methods.getitem(self, index)
            return found
        except Exception:
            above.shorten_traceback()
            raise


BINARY = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "matmul", "and", "or", "xor", "eq", "ne", "lt", "le", "gt", "ge")  # fmt: skip
UNARY = ("neg", "abs", "invert")
for _name in BINARY:
    setattr(EagerOperators, f"__{_name}__", _binary(getattr(ArrayOperators, f"__{_name}__")))
for _name in UNARY:
    setattr(EagerOperators, f"__{_name}__", _unary(getattr(ArrayOperators, f"__{_name}__")))
for _name in ("floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod", "pow", "rpow", "rmatmul", "rand", "ror", "rxor",
    "lshift", "rlshift", "rshift", "rrshift", "pos", "round", "setitem", "array_ufunc", "array_function", "iter", "contains", "len"):  # fmt: skip
    setattr(EagerOperators, f"__{_name}__", _general(getattr(ArrayOperators, f"__{_name}__")))
