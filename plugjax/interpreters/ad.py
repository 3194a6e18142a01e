"""Derivatives of primitives that a program defines: JVP and transpose rules, and ways to make them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.calls import Definitions
from plugjax.extend.core import (
    Primitive,
    Zero,
    add_any,
    add_any_p,
    as_array,
    aval_of,
    instantiate,
    zeros,
)
from plugjax.extend.rules import jvp_rule, transpose_rule
from plugjax.extend.transforms import (
    JVPTrace,
    JVPTracer,
    UndefinedPrimal,
    is_undefined_primal,
    jvp_flat,
    linearize,
    show_only,
)

# Rules ``(primals, tangents, **params) -> (primal, tangent)``.
primitive_jvps = Definitions(jvp_rule)
# Rules ``(cotangent, *operands, **params) -> cotangents``; operands to differentiate by are ``UndefinedPrimal``.
primitive_transposes = Definitions(transpose_rule)

add_jaxvals_p = add_any_p
add_tangents = add_any
instantiate_zeros = instantiate
zeros_like_aval = zeros


def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    instantiate: bool = True,
) -> tuple[list[Any], list[Any]]:
    """Values and tangents of a function of arrays that gives a sequence of them.

    Args:
        fun: the function, or a ``WrappedFun``.
        primals: the point. JAX takes its own trees of leaves here.
        tangents: the direction; ``Zero`` where there is none.
        instantiate: whether tangents that are zero are given as arrays.

    Example:
        >>> from plugjax.interpreters import ad
        >>> ad.jvp(lambda x, y: [x * y], [2.0, 3.0], [1.0, 0.0])[1]
        [Array(3., dtype=float32, weak_type=True)]
    """
    call: Callable[..., Any] = getattr(fun, "call_wrapped", fun)
    outs, dots = jvp_flat(
        lambda *xs: [as_array(y, "ad.jvp") for y in call(*xs)],
        [as_array(x, "ad.jvp") for x in primals],
        [t if type(t) is Zero else as_array(t, "ad.jvp") for t in tangents],
    )
    return outs, [instantiate_zeros(t) for t in dots] if instantiate else dots


def add_jaxvals(x: Any, y: Any) -> Any:
    """Sum of two cotangents."""
    return add_any_p.bind(x, y)


def get_primitive_transpose(primitive: Primitive) -> Callable[..., Any]:
    """The transpose rule of a primitive.

    Raises:
        NotImplementedError: it has none.
    """
    try:
        return primitive_transposes[primitive]
    except KeyError:
        raise NotImplementedError(f"no transpose rule for primitive '{primitive}'") from None


def _total(tangents: Sequence[Any], out: Any) -> Any:
    """The sum of tangents; a symbolic zero like that of ``out`` if there are none."""
    return functools.reduce(add_any, tangents, Zero(aval_of(out).to_tangent_aval()))


def defjvp(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """Give the derivative by one rule per operand.

    Args:
        primitive: with one result.
        *rules: ``(tangent, *primals, **params) -> tangent of the result``; ``None`` where the derivative is 0.
    """
    taking_result = [
        rule and (lambda t, _, *primals, rule=rule, **params: rule(t, *primals, **params))
        for rule in rules
    ]
    defjvp2(primitive, *taking_result)


def defjvp2(primitive: Primitive, *rules: Callable[..., Any] | None) -> None:
    """As :func:`defjvp`, with rules ``(tangent, result, *primals, **params)``."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        found = [
            rule(t, out, *primals, **params)
            for rule, t in zip(rules, tangents, strict=True)
            if rule is not None and type(t) is not Zero
        ]
        return out, _total(found, out)

    primitive_jvps[primitive] = jvp


def deflinear2(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """Say that a primitive is linear in all operands together, with its transpose ``(cotangent, *operands, **params)``."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            zero = [Zero(aval_of(y).to_tangent_aval()) for y in _listed(primitive, out)]
            return out, zero if primitive.multiple_results else zero[0]
        return out, primitive.bind(*map(instantiate, tangents), **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose


def deflinear(primitive: Primitive, transpose: Callable[..., Any]) -> None:
    """As :func:`deflinear2`, with a transpose that takes no operands: ``(cotangent, **params)``."""
    deflinear2(primitive, lambda cotangent, *_, **params: transpose(cotangent, **params))


def defbilinear(primitive: Primitive, lhs: Callable[..., Any], rhs: Callable[..., Any]) -> None:
    """Say that a primitive is linear in each of two operands.

    Args:
        primitive: with one result.
        lhs: ``(cotangent, x, y, **params) -> cotangent of x``; ``x`` is ``UndefinedPrimal``.
        rhs: the same for ``y``, which is ``UndefinedPrimal`` then.
    """
    defjvp(
        primitive,
        lambda t, _, y, **params: primitive.bind(t, y, **params),
        lambda t, x, _, **params: primitive.bind(x, t, **params),
    )

    def transpose(cotangent: Any, x: Any, y: Any, **params: Any) -> tuple[Any, Any]:
        if is_undefined_primal(x):
            return lhs(cotangent, x, y, **params), None
        return None, rhs(cotangent, x, y, **params)

    primitive_transposes[primitive] = transpose


def _listed(primitive: Primitive, out: Any) -> Sequence[Any]:
    results: Sequence[Any] = out if primitive.multiple_results else [out]
    return results


__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_jaxvals_p",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp",
    "linearize",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]

show_only(globals(), __all__)
