"""Elementwise primitives whose coefficients satisfy a recurrence.

With u the operand and v the result, each comes of a differential equation, coefficient by coefficient: v' = u' v for exp, u v' = u' for
log, v' = u' w with w = 1 + v^2 for tan, and so on.

Reference:
    A. Griewank, A. Walther, "Evaluating Derivatives", 2008, chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax import lax
from plugjax.experimental.jet.tracing import Terms, by_derivative, jet_flat, taylor, times
from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet
from plugjax.lax.families import scalar

rules = RuleSet(__name__)

Rule = Callable[[int, list[Any], dict[str, Any]], list[Any]]


def _unary(primitive: Primitive) -> Callable[[Rule], Rule]:
    """Decorator: the coefficients of the result, from the order and those of the operand."""

    def register(function: Rule) -> Rule:
        @rules.define(taylor, primitive)
        def _push(
            order: int, primals: Sequence[Any], series: Sequence[list[Any]], **params: Any
        ) -> tuple[Any, list[Any]]:
            out, *terms = function(order, [primals[0], *series[0]], params)
            return out, terms

        return function

    return register


def _total(values: Sequence[Any]) -> Any:
    total = values[0]
    for x in values[1:]:
        total = lax.add_p.bind(total, x)
    return total


def _product(u: Sequence[Any], v: Sequence[Any], k: int) -> Any:
    """The coefficient of s^k in the product of two series, as far as they are known: unknown ones are left out."""
    return _total(
        [lax.mul_p.bind(u[j], v[k - j]) for j in range(k + 1) if j < len(u) and k - j < len(v)]
    )


def _rate(u: Sequence[Any], w: Sequence[Any], k: int) -> Any:
    """The coefficient of s^k in the v with v' = u' w."""
    terms = [times(j, lax.mul_p.bind(u[j], w[k - j])) for j in range(1, k + 1)]
    return times(1 / k, _total(terms))


@_unary(lax.exp_p)
def _exp(order: int, u: list[Any], params: dict[str, Any]) -> list[Any]:
    v = [lax.exp_p.bind(u[0], **params)]
    for k in range(1, order + 1):
        v.append(_rate(u, v, k))
    return v


@_unary(lax.log_p)
def _log(order: int, u: list[Any], params: dict[str, Any]) -> list[Any]:
    v = [lax.log_p.bind(u[0], **params)]
    for k in range(1, order + 1):
        known = u[k]
        if k > 1:
            parts = [times(j / k, lax.mul_p.bind(v[j], u[k - j])) for j in range(1, k)]
            known = lax.sub_p.bind(known, _total(parts))
        v.append(lax.div_p.bind(known, u[0]))
    return v


def _pair(first: Primitive, second: Primitive, sign: int, chosen: int) -> None:
    """Sine and cosine, of the circle (sign -1) or the hyperbola: s' = u' c and c' = sign u' s."""

    @_unary((first, second)[chosen])
    def _push(order: int, u: list[Any], params: dict[str, Any]) -> list[Any]:
        s, c = [first.bind(u[0], **params)], [second.bind(u[0], **params)]
        for k in range(1, order + 1):
            next_s, next_c = _rate(u, c, k), _rate(u, s, k)
            s.append(next_s)
            c.append(lax.neg_p.bind(next_c) if sign < 0 else next_c)
        return (s, c)[chosen]


for _chosen in (0, 1):
    _pair(lax.sin_p, lax.cos_p, -1, _chosen)
    _pair(lax.sinh_p, lax.cosh_p, 1, _chosen)


def _of_square(primitive: Primitive, sign: int) -> None:
    """Tangents, of the circle (sign 1) or the hyperbola: v' = u' w with w = 1 + sign v^2."""

    @_unary(primitive)
    def _push(order: int, u: list[Any], params: dict[str, Any]) -> list[Any]:
        v = [primitive.bind(u[0], **params)]
        one = scalar(1, u[0])
        w = [lax.add_p.bind(one, times(sign, _product(v, v, 0)))]
        for k in range(1, order + 1):
            v.append(_rate(u, w, k))
            w.append(times(sign, _product(v, v, k)))
        return v


_of_square(lax.tan_p, 1)
_of_square(lax.tanh_p, -1)


@_unary(lax.logistic_p)
def _logistic(order: int, u: list[Any], params: dict[str, Any]) -> list[Any]:
    v = [lax.logistic_p.bind(u[0], **params)]
    w = [lax.sub_p.bind(v[0], _product(v, v, 0))]
    for k in range(1, order + 1):
        v.append(_rate(u, w, k))
        w.append(lax.sub_p.bind(v[k], _product(v, v, k)))
    return v


@_unary(lax.sqrt_p)
def _sqrt(order: int, u: list[Any], params: dict[str, Any]) -> list[Any]:
    v = [lax.sqrt_p.bind(u[0], **params)]
    for k in range(1, order + 1):
        known = u[k]
        if k > 1:
            known = lax.sub_p.bind(known, _product(v[1:], v[1:], k - 2))
        v.append(lax.div_p.bind(times(0.5, known), v[0]))
    return v


@_unary(lax.square_p)
def _square(order: int, u: list[Any], params: dict[str, Any]) -> list[Any]:
    return [lax.square_p.bind(u[0], **params), *(_product(u, u, k) for k in range(1, order + 1))]


@rules.define(taylor, lax.div_p)
def _div(
    order: int, primals: Sequence[Any], series: Sequence[Terms], **params: Any
) -> tuple[Any, list[Any]]:
    (x, y), (xs, ys) = primals, series
    v = [lax.div_p.bind(x, y, **params)]
    for k in range(1, order + 1):
        known = None if xs is None else xs[k - 1]
        if ys is not None:
            parts = _total([lax.mul_p.bind(v[k - j], ys[j - 1]) for j in range(1, k + 1)])
            known = lax.neg_p.bind(parts) if known is None else lax.sub_p.bind(known, parts)
        v.append(lax.div_p.bind(known, y, **params))
    return v[0], v[1:]


@_unary(lax.integer_pow_p)
def _integer_pow(order: int, u: list[Any], params: dict[str, Any]) -> list[Any]:
    y = params["y"]

    def power(x: Any) -> list[Any]:
        base = x if y >= 0 else lax.div_p.bind(scalar(1, x), x)
        result, exponent = None, abs(y)
        while exponent:
            if exponent % 2:
                result = base if result is None else lax.mul_p.bind(result, base)
            exponent //= 2
            base = lax.mul_p.bind(base, base) if exponent else base
        return [result]

    out = lax.integer_pow_p.bind(u[0], **params)
    if y == 0:
        return [out, *(times(0, term) for term in u[1:])]
    _, (terms,) = jet_flat(power, order, u[:1], [u[1:]])
    assert terms is not None
    return [out, *terms]


@rules.define(taylor, lax.pow_p)
def _pow(
    order: int, primals: Sequence[Any], series: Sequence[Terms], **params: Any
) -> tuple[Any, Any]:
    if series[1] is None:
        # The derivative's form is right at zero too, where the logarithm is not.
        return by_derivative(lax.pow_p, order, primals, series, params)
    out = lax.pow_p.bind(*primals, **params)

    def exponent(x: Any, y: Any) -> list[Any]:
        return [lax.mul_p.bind(y, lax.log_p.bind(x))]

    (first,), (terms,) = jet_flat(exponent, order, primals, series)
    u, v = [first, *(terms or ())], [out]
    for k in range(1, order + 1):
        v.append(_rate(u, v, k))
    return v[0], v[1:]
