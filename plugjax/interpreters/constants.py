"""MLIR's types and constants of values, by class, for lowerings of a program's own; trees of MLIR values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from jaxlib import _jax
from jaxlib.mlir import ir

from plugjax.extend.core import AbstractToken, ShapedArray
from plugjax.stablehlo import mlir

Value = Any

# Values and types of MLIR, in lists and tuples; results of an operation are a list.
ir_tree_registry = _jax.pytree.PyTreeRegistry(
    enable_none=False,
    enable_tuple=True,
    enable_namedtuple=False,
    enable_list=True,
    enable_dict=False,
)
ir_tree_registry.register_node(
    ir.OpResultList, lambda results: (results, None), lambda _, results: list(results)
)

# By the class of an aval, ``aval -> type, or tuple of types``; asked by ``aval_to_ir_type`` and ``aval_to_ir_types``.
ir_type_handlers: dict[type[Any], Callable[[Any], Any]] = {
    ShapedArray: mlir.type_of,
    AbstractToken: lambda _: mlir.token_type(),
}


class ConstantHandler(Protocol):
    """What makes a constant of a value: a value of MLIR, or a tuple of them."""

    def __call__(self, val: Any, aval: Any | None) -> Any:
        """The constant.

        Args:
            val: the value.
            aval: its type, if it is known.
        """


_handlers: dict[type[Any], ConstantHandler] = {}


def register_constant_handler(type_: type[Any], handler_fun: ConstantHandler) -> None:
    """Say what constant stands for values of a class, in ``ir_constant`` and ``ir_constants``.

    Args:
        type_: the class; values of derived classes are meant too.
        handler_fun: makes the constant.

    Example:
        >>> from fractions import Fraction
        >>> import numpy as np
        >>> from plugjax.interpreters import mlir
        >>> mlir.register_constant_handler(Fraction, lambda x, aval: mlir.ir_constant(np.float32(x)))
    """
    _handlers[type_] = handler_fun


def ir_constants(value: Any, *, aval: Any | None = None) -> tuple[Value, ...]:
    """A constant as all its MLIR values: one of an array, or what the handler of the class gives.

    Args:
        value: an array, a number, or a value of a class with a handler.
        aval: its type, if it is another than the array's own.

    Raises:
        TypeError: there is no constant for it.
    """
    for kind in type(value).__mro__:
        if kind in _handlers:
            found = _handlers[kind](value, aval)
            return found if isinstance(found, tuple) else (found,)
    array = np.asarray(value, aval.dtype if aval is not None else None)
    if array.dtype == object:
        raise TypeError(f"No constant handler for type: {type(value)}")
    return (mlir.constant(array),)


def ir_constant(value: Any, aval: Any | None = None) -> Value:
    """As :func:`ir_constants`, for what is one MLIR value.

    Raises:
        ValueError: it is several.
    """
    found = ir_constants(value, aval=aval)
    if len(found) != 1:
        raise ValueError(f"ir_constant: {value!r} is {len(found)} MLIR values. Use ir_constants.")
    return found[0]


def aval_to_ir_types(ctx: Any, aval: Any) -> tuple[Any, ...]:
    """The MLIR types of a value, by :data:`ir_type_handlers`: one of an array.

    Args:
        ctx: the module.
        aval: the type of the value.

    Raises:
        TypeError: no handler is for the aval's class.
    """
    handler = ir_type_handlers.get(type(aval))
    if handler is None:
        raise TypeError(f"No ir_type_handler for aval type: {type(aval)}")
    found = handler(aval)
    return found if isinstance(found, tuple) else (found,)


def aval_to_ir_type(*ctx_and_aval: Any) -> Any:
    """The MLIR type of a value that has one.

    Args:
        *ctx_and_aval: the module and the aval; JAX before 0.10 takes the aval alone.

    Raises:
        TypeError: the value has several, or no handler is for the aval's class.
    """
    found = aval_to_ir_types(None, ctx_and_aval[-1])
    if len(found) != 1:
        raise TypeError(
            f"aval_to_ir_type: {ctx_and_aval[-1]} has {len(found)} types. Use aval_to_ir_types."
        )
    return found[0]
