r"""The regularized incomplete beta function.

.. math:: I_x(a, b) = \frac{x^a (1-x)^b}{a B(a, b)} \cfrac{1}{1+ \cfrac{d_1}{1+ \cfrac{d_2}{1+ \cdots}}}

converges fast for ``x < (a + 1) / (a + b + 2)``; else ``1 - I_{1-x}(b, a)`` does.

Reference:
    NIST Digital Library of Mathematical Functions, 8.17.22 and 8.17.4.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from plugjax.extend.core import Array, ArrayLike, Primitive, aval_of
from plugjax.extend.rules import RuleSet
from plugjax.lax.arithmetic import abs as abs_, add, mul, neg, sub
from plugjax.lax.control_flow.while_loop import while_loop
from plugjax.lax.exponential import exp, log, log1p
from plugjax.lax.families import FLOAT, elementwise, partials, scalar
from plugjax.lax.reduction import reduce_or
from plugjax.lax.selection import select
from plugjax.lax.shape import full_like
from plugjax.lax.special import lgamma
from plugjax.lax.working_precision import in_working_precision

rules = RuleSet(__name__)

regularized_incomplete_beta_p = Primitive("regularized_incomplete_beta")
elementwise(rules, regularized_incomplete_beta_p, accepts=FLOAT)

_MOST_STEPS = 300


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularized incomplete beta function, I_x(a, b).

    Raises:
        ValueError: it is differentiated by ``a`` or ``b``.

    Example:
        >>> from plugjax import lax
        >>> lax.betainc(1.0, 1.0, 0.25)
        Array(0.25, dtype=float32, weak_type=True)
    """
    return regularized_incomplete_beta_p.bind(a, b, x)


def _log_beta(a: Any, b: Any) -> Any:
    return sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))


@partials(rules, regularized_incomplete_beta_p)
def _betainc_partials(y: Any, a: Any, b: Any, x: Any) -> tuple[Any, Any, Any]:
    def refuse() -> NoReturn:
        raise ValueError(
            "betainc: a derivative in a or b is not supported. Stop it with lax.stop_gradient."
        )

    def by_x() -> Any:
        one = scalar(1, a)
        powers = add(mul(sub(b, one), log1p(neg(x))), mul(sub(a, one), log(x)))
        return exp(sub(powers, _log_beta(a, b)))

    return refuse, refuse, by_x


def _fraction(a: Any, b: Any, x: Any, active: Any) -> Any:
    """The continued fraction, two levels a step, by Lentz's method."""
    dtype = aval_of(x).dtype
    eps, least = float(np.finfo(dtype).eps), dtype.type(1e-30)

    def apart_from_zero(v: Any) -> Any:
        return select(abs_(v) < least, full_like(v, least), v)

    def level(numerator: Any, c: Any, d: Any) -> tuple[Any, Any]:
        d = 1 / apart_from_zero(1 + numerator * d)
        return apart_from_zero(1 + numerator / c), d

    def step(carry: Any) -> Any:
        m, active, *old = carry
        c, d, value = old
        odd = -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)) * x
        m = m + 1
        even = m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m)) * x
        c, d = level(odd, c, d)
        value = value * c * d
        c, d = level(even, c, d)
        new = (c, d, value * c * d)
        more = abs_(c * d - 1) > eps
        return m, active & more, *(select(active, n, o) for n, o in zip(new, old, strict=True))

    one = full_like(x, 1)
    found = while_loop(
        lambda s: reduce_or(s[1], tuple(range(aval_of(s[1]).ndim))) & (s[0] < _MOST_STEPS),
        step,
        (dtype.type(0), active, full_like(x, 1e30), one, one),
    )
    return found[4]


@in_working_precision
def betainc_program(a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b), for devices without this operation."""
    # The whole distribution is at 0, or at 1.
    at_zero, at_one = (a == 0) | (b == np.inf), (b == 0) | (a == np.inf)
    outside = (a < 0) | (b < 0) | (x < 0) | (x > 1) | (a != a) | (b != b) | (x != x)
    outside = outside | (at_zero & at_one)
    is_one = (at_zero & (x > 0)) | (x == 1)
    inside = ~(outside | at_zero | at_one) & (x > 0) & (x < 1)
    a, b = (select(inside, v, full_like(v, 1)) for v in (a, b))
    x = select(inside, x, full_like(x, 0.5))

    direct = x < (a + 1) / (a + b + 2)
    a, b = select(direct, a, b), select(direct, b, a)
    x = select(direct, x, 1 - x)
    # a B(a, b) as Gamma(a + 1) Gamma(b) / Gamma(a + b), which is valid for the smallest a.
    scale = lgamma(a + 1) + lgamma(b) - lgamma(a + b)
    found = exp(a * log(x) + b * log1p(-x) - scale) * _fraction(a, b, x, inside)
    found = select(direct, found, 1 - found)
    edge = select(is_one, full_like(x, 1), full_like(x, 0))
    return select(outside, full_like(x, np.nan), select(inside, found, edge))
