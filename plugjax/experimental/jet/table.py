"""Rules for series in JAX's form, by primitive, and ways to make them.

A rule here takes a series for each operand, zeros for a constant, and leaves the order out; ``taylor`` has ``None`` for a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.experimental.jet.tracing import taylor, times
from plugjax.experimental.jet.transform import as_tangent, jet
from plugjax.extend import pytree
from plugjax.extend.calls import Definitions
from plugjax.extend.core import Primitive, as_array, aval_of

Rule = Callable[..., tuple[Any, Any]]


class ZeroTerm:
    """The class of :data:`zero_term`, the coefficient that is zero.

    Example:
        >>> from plugjax.experimental.jet import ZeroTerm, zero_term
        >>> isinstance(zero_term, ZeroTerm)
        True
    """


class ZeroSeries:
    """The class of :data:`zero_series`, the series of a constant.

    Example:
        >>> from plugjax.experimental.jet import ZeroSeries, zero_series
        >>> isinstance(zero_series, ZeroSeries)
        True
    """


zero_term = ZeroTerm()
zero_series = ZeroSeries()
pytree.register(ZeroTerm, lambda _: ((), None), lambda *_: zero_term)
pytree.register(ZeroSeries, lambda _: ((), None), lambda *_: zero_series)


def _adopt(rule: Rule) -> Rule:
    def push(order: int, primals: Sequence[Any], series: Any, **params: Any) -> tuple[Any, Any]:
        written = [
            [jnp.zeros(aval_of(x).shape, aval_of(x).dtype)] * order if terms is None else terms
            for x, terms in zip(primals, series, strict=True)
        ]
        out, found = rule(list(primals), written, **params)
        if not isinstance(out, (list, tuple)):
            return _checked(out, found)
        each = [zero_series] * len(out) if found is zero_series else found
        pairs = [_checked(y, terms) for y, terms in zip(out, each, strict=True)]
        return [y for y, _ in pairs], [terms for _, terms in pairs]

    return push


def _checked(out: Any, terms: Any) -> tuple[Any, list[Any] | None]:
    y = as_array(out, "jet")
    if terms is zero_series or all(t is zero_term for t in terms):
        return y, None
    return y, [as_tangent(jnp.zeros(()) if t is zero_term else t, y) for t in terms]


def _present(rule: Rule) -> Rule:
    def call(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        order = max((len(terms) for terms in series if terms is not zero_series), default=0)
        given = [None if terms is zero_series else list(terms) for terms in series]
        out, found = rule(order, [as_array(x, "jet") for x in primals], given, **params)
        if not isinstance(out, (list, tuple)):
            return out, zero_series if found is None else found
        return out, [zero_series if terms is None else terms for terms in found]

    return call


# Rules ``(primals, series, **params) -> (primal, series of it)``, lists of both if there are several results.
jet_rules = Definitions(taylor, _adopt, _present)

# As ``jet``, with the coefficients of polynomials.
jet2 = partial(jet, factorial_scaled=False)


def fact(n: Any) -> Any:
    """The factorial of a number.

    Example:
        >>> from plugjax.experimental.jet import fact
        >>> fact(3).round()
        Array(6., dtype=float32, weak_type=True)
    """
    return lax.exp(lax.lgamma(n + 1.0))


def zero_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """The series of a primitive that is constant around almost every value.

    Example:
        >>> from plugjax import lax
        >>> from plugjax.experimental.jet import zero_prop, zero_series
        >>> zero_prop(lax.floor_p, [1.5], [[1.0]])[1] is zero_series
        True
    """
    return prim.bind(*_arrays(primals_in), **params), zero_series


def linear_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """The series of a primitive that is linear in all operands together.

    Example:
        >>> from plugjax import lax
        >>> from plugjax.experimental.jet import linear_prop
        >>> linear_prop(lax.neg_p, [1.0], [[2.0, 3.0]])[1]
        [Array(-2., dtype=float32, weak_type=True), Array(-3., dtype=float32, weak_type=True)]
    """
    out = prim.bind(*_arrays(primals_in), **params)
    found = [prim.bind(*_arrays(terms), **params) for terms in zip(*series_in, strict=True)]
    return out, [
        list(terms) for terms in zip(*found, strict=True)
    ] if prim.multiple_results else found


def deriv_prop(
    prim: Primitive,
    deriv: Callable[[Any], Any],
    primals_in: Sequence[Any],
    series_in: Sequence[Any],
) -> tuple[Any, Any]:
    """The series of a primitive of one operand, by its derivative: with v' = deriv(u) u', coefficient by coefficient.

    Example:
        >>> from plugjax import lax
        >>> from plugjax.experimental.jet import deriv_prop
        >>> deriv_prop(lax.sin_p, lax.cos, [0.0], [[2.0]])[1]
        [Array(2., dtype=float32, weak_type=True)]
    """
    (x,), (terms,) = _arrays(primals_in), series_in
    first, rest = jet2(deriv, [x], [list(terms[:-1])])
    rate, u = [first, *rest], [x, *terms]
    found = [
        times(1 / k, sum(times(j, rate[k - j] * u[j]) for j in range(1, k + 1)))
        for k in range(1, len(u))
    ]
    return prim.bind(x), found


def defzero(prim: Primitive) -> None:
    """Say that a primitive is constant around almost every value.

    Example:
        >>> from plugjax import lax
        >>> from plugjax.experimental.jet import defzero, jet
        >>> from plugjax.extend.core import Primitive
        >>> count_p = Primitive("count_of_zero")
        >>> _ = count_p.def_impl(lax.floor), count_p.def_abstract_eval(lambda x: x)
        >>> defzero(count_p)
        >>> jet(count_p.bind, (1.5,), ([1.0],))[1]
        [Array(0., dtype=float32, weak_type=True)]
    """
    jet_rules[prim] = partial(zero_prop, prim)


def deflinear(prim: Primitive) -> None:
    """Say that a primitive is linear in all operands together.

    Example:
        >>> from plugjax import lax
        >>> from plugjax.experimental.jet import deflinear, jet
        >>> from plugjax.extend.core import Primitive
        >>> minus_p = Primitive("minus_of_linear")
        >>> _ = minus_p.def_impl(lax.neg), minus_p.def_abstract_eval(lambda x: x)
        >>> deflinear(minus_p)
        >>> jet(minus_p.bind, (1.5,), ([1.0],))[1]
        [Array(-1., dtype=float32, weak_type=True)]
    """
    jet_rules[prim] = partial(linear_prop, prim)


def def_deriv(prim: Primitive, deriv: Callable[[Any], Any]) -> None:
    """Give the series of a primitive of one operand by its derivative, a function of the operand.

    Example:
        >>> from plugjax import lax
        >>> from plugjax.experimental.jet import def_deriv, jet
        >>> from plugjax.extend.core import Primitive
        >>> sine_p = Primitive("sine_of_deriv")
        >>> _ = sine_p.def_impl(lax.sin), sine_p.def_abstract_eval(lambda x: x)
        >>> def_deriv(sine_p, lax.cos)
        >>> jet(sine_p.bind, (0.0,), ([1.0],))[1]
        [Array(1., dtype=float32, weak_type=True)]
    """
    jet_rules[prim] = partial(deriv_prop, prim, deriv)


def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Give the series of a primitive by a function of other primitives that computes the same.

    Args:
        prim: the primitive.
        comp: the function, of the operands.
        **kwargs: for :func:`jet`.

    Example:
        >>> from plugjax import lax
        >>> from plugjax.experimental.jet import def_comp, jet
        >>> from plugjax.extend.core import Primitive
        >>> square_p = Primitive("square_of_comp")
        >>> _ = square_p.def_impl(lax.square), square_p.def_abstract_eval(lambda x: x)
        >>> def_comp(square_p, lambda x: x * x)
        >>> jet(square_p.bind, (3.0,), ([1.0],))[1]
        [Array(6., dtype=float32, weak_type=True)]
    """
    jet_rules[prim] = partial(jet2, comp, **kwargs)


def _arrays(xs: Sequence[Any]) -> list[Any]:
    return [as_array(x, "jet") for x in xs]
