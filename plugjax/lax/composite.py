"""Composites: named functions for which compilers may have better code.

The name, a version and attributes go to the compiler beside the decomposition, the function that defines the result. A
composite may be replaced by its decomposition anywhere, and is batched as its decomposition. Derivatives are refused, as in JAX.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from plugjax.extend import pytree
from plugjax.extend.core import Array, ClosedJaxpr, ShapedArray, Tracer, as_array, eval_closed
from plugjax.extend.errors import UnexpectedTracerError
from plugjax.extend.rules import RuleSet, abstract_eval, jvp_rule
from plugjax.lax.compound import compound, new_compound
from plugjax.lax.control_flow.bodies import trace_body

rules = RuleSet(__name__)

composite_p = new_compound("composite")


class CompositeAttribute:
    """An attribute for the compiler: a number, a string, a dtype, an array, or a list or dict of these.

    Equations are compared by their parameters, so attributes are compared by type, dtype and bits.
    """

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = _key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CompositeAttribute) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def _key(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return type(value), repr(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(_key(v) for v in value)
    if isinstance(value, dict):
        return tuple((name, _key(v)) for name, v in sorted(value.items()))
    raise TypeError(f"lax.composite: a value of {type(value)} is no attribute: {value!r}.")


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function under a name, such as ``"my_namespace.softmax"``, for which compilers may have code.

    Args:
        decomposition: the function. Its positional arguments are pytrees of arrays, its keyword arguments attributes.
        name: with a namespace.
        version: version of the name's meaning.

    Returns:
        The function. Attributes that are ``None`` are left out.

    Raises:
        TypeError: an attribute has another type; raised when the function is called.
        UnexpectedTracerError: an attribute, or a value that the function closes over, is traced.
        ValueError: ``name`` has no namespace; raised when XLA compiles it.

    Differs from JAX:
        It is batched as its decomposition, which then replaces it. It has no derivative: give one with ``custom_jvp`` around the
        call.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> tangent = lax.composite(lambda x: lax.sin(x) / lax.cos(x), "my.tangent")
        >>> tangent(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 1.557], dtype=float32)
    """

    @functools.wraps(decomposition)
    def call(*args: Any, **kwargs: Any) -> Any:
        attributes = tuple(
            (key, CompositeAttribute(_known(value, name)))
            for key, value in sorted(kwargs.items())
            if value is not None
        )
        leaves, in_tree = pytree.flatten(args)
        arrays = [as_array(x, "composite") for x in leaves]
        bound = functools.wraps(decomposition)(functools.partial(decomposition, **kwargs))
        program, consts, out_tree = trace_body(
            bound, in_tree, [x.aval for x in arrays], "composite"
        )
        for value in consts:
            if isinstance(value, Tracer):
                raise UnexpectedTracerError(
                    value,
                    f"The decomposition of the composite '{name}' closes over a traced value. Pass it as an argument.",
                )
        outs = composite_p.bind(
            *consts, *arrays, jaxpr=program, name=name, attributes=attributes, version=int(version)
        )
        return pytree.unflatten(out_tree, outs)

    return call


def _known(value: Any, name: str) -> Any:
    """An attribute with NumPy arrays for arrays."""

    def known(leaf: Any) -> Any:
        if isinstance(leaf, Tracer):
            raise UnexpectedTracerError(
                leaf, f"An attribute of the composite '{name}' is traced. Pass it as an argument."
            )
        return np.asarray(leaf) if type(leaf) is Array else leaf

    return pytree.tree_map(known, value)


@rules.define(abstract_eval, composite_p)
def _composite_avals(*avals: ShapedArray, jaxpr: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
    return jaxpr.out_avals


def _decomposed(*operands: Any, jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return eval_closed(jaxpr, *operands)


compound(rules, composite_p, _decomposed, expanded=False, differentiable=False)


@rules.define(jvp_rule, composite_p)
def _no_derivative(*_: Any, name: str, **__: Any) -> NoReturn:
    raise ValueError(
        f"JVP rule for composite not implemented: a compiler may replace '{name}', and its derivative would be that of another "
        "function. Define the derivative with jax.custom_jvp."
    )
