"""Functions of arrays on the fast path, as operators are: see :mod:`plugjax.core.eager_operators`.

A function promotes, converts, checks and binds; which primitives that comes to depends on the avals of its arrays alone when
it is called with nothing else. The evaluator then keeps a host program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from plugjax.core.array import Array
from plugjax.core.eager_operators import BINARY, UNARY
from plugjax.core.primitive import state
from plugjax.transforms.tracebacks import own_boundaries, shorten_traceback

F = TypeVar("F", bound=Callable[..., Any])

_functions: dict[str, tuple[Callable[..., Any], int]] = {}


def eager_program(count: int) -> Callable[[F], F]:
    """A decorator: the evaluator caches a program for calls with ``count`` arrays and no other argument.

    Only for functions whose primitives do not depend on values. Errors shorten_traceback them as by ``api_boundary``.

    Args:
        count: number of arrays, 1 to 3.

    Example:
        >>> import plugjax.numpy as jnp
        >>> @eager_program(2)
        ... def hypotenuse(x, y):
        ...     return jnp.sqrt(x * x + y * y)
        >>> hypotenuse(jnp.float32(3), jnp.float32(4))
        Array(5., dtype=float32)
    """
    make = (_of_one, _of_two, _of_three)[count - 1]

    def decorate(function: F) -> F:
        call: Any = functools.update_wrapper(make(function), function)
        own_boundaries.add(call.__code__)
        _functions[function.__name__] = (call, count)
        return cast("F", call)

    return decorate


def eager_operations() -> dict[str, tuple[Callable[..., Any], int]]:
    """What takes the fast path of eager calls, by name: operators of arrays, and the functions that `eager_program` made.

    Returns:
        Each callable, and how many arrays it takes.

    Example:
        >>> operation, count = eager_operations()["outer"]
        >>> operation.__name__, count
        ('outer', 2)
    """
    # An operator with swapped operands is the same program.
    operators = [(name, 2) for name in BINARY if not name.startswith("r")]
    operators += [(name, 1) for name in UNARY]
    found = {name: (getattr(Array, f"__{name}__"), count) for name, count in operators}
    return {**found, **_functions}


def _of_one(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if len(args) == 1 and type(args[0]) is Array and not kwargs:
                (x,) = args
                trace = state.trace
                key = (function, x.aval, x._placement)
                run = trace.programs.get(key)
                return run(x) if run is not None else trace.operate(key, function, x)
            return function(*args, **kwargs)
        except Exception:
            shorten_traceback()
            raise

    return call


def _of_two(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if len(args) == 2 and type(args[0]) is type(args[1]) is Array and not kwargs:
                x, y = args
                trace = state.trace
                key = (function, x.aval, x._placement, y.aval, y._placement)
                run = trace.programs.get(key)
                return run(x, y) if run is not None else trace.operate(key, function, x, y)
            return function(*args, **kwargs)
        except Exception:
            shorten_traceback()
            raise

    return call


def _of_three(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if (
                len(args) == 3
                and not kwargs
                and type(args[0]) is type(args[1]) is type(args[2]) is Array
            ):
                x, y, z = args
                trace = state.trace
                key = (
                    function, x.aval, x._placement, y.aval, y._placement, z.aval, z._placement,
                )  # fmt: skip
                run = trace.programs.get(key)
                return run(x, y, z) if run is not None else trace.operate(key, function, x, y, z)
            return function(*args, **kwargs)
        except Exception:
            shorten_traceback()
            raise

    return call
