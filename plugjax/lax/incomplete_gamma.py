r"""The regularized incomplete gamma functions, and their derivatives by the first argument.

With :math:`e = x^a e^{-x} / \Gamma(a + 1)`, below the turning point ``x <= max(1, a)`` the series

.. math:: P(a, x) = e \sum_n \frac{x^n}{(a+1) \cdots (a+n)}

is summed, above it the continued fraction

.. math:: Q(a, x) = e a \cfrac{1}{x+1-a- \cfrac{1(1-a)}{x+3-a- \cfrac{2(2-a)}{x+5-a- \cdots}}}

each with its derivative by ``a``, from the differentiated recurrence.

Reference:
    NIST Digital Library of Mathematical Functions, 8.11.4 (the series), 8.9.2 (the fraction, contracted); Lentz,
    "Generating
    Bessel functions in Mie scattering calculations using continued fractions", 1976.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import Array, ArrayLike, Primitive, aval_of
from plugjax.extend.rules import RuleSet, jvp_rule
from plugjax.lax.arithmetic import abs as abs_, mul, neg, sub
from plugjax.lax.control_flow.while_loop import while_loop
from plugjax.lax.exponential import exp, log
from plugjax.lax.families import FLOAT, elementwise, partials, scalar
from plugjax.lax.reduction import reduce_or
from plugjax.lax.selection import select
from plugjax.lax.shape import full_like
from plugjax.lax.special import digamma, lgamma
from plugjax.lax.working_precision import in_working_precision

rules = RuleSet(__name__)

igamma_p = Primitive("igamma")
igammac_p = Primitive("igammac")
igamma_grad_a_p = Primitive("igamma_grad_a")

for _p in (igamma_p, igammac_p, igamma_grad_a_p):
    elementwise(rules, _p, accepts=FLOAT)

rules.absent(jvp_rule, igamma_grad_a_p, because="its derivatives are not written, as in JAX")

_MOST_TERMS = 2000


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularized lower incomplete gamma function, P(a, x).

    Example:
        >>> from plugjax import lax
        >>> lax.igamma(1.0, 2.0)
        Array(0.86466473, dtype=float32, weak_type=True)
    """
    return igamma_p.bind(a, x)


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularized upper incomplete gamma function, Q(a, x) = 1 - P(a, x) without cancellation.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.igammac(jnp.array([1.0]), jnp.array([0.0]))
        Array([1.], dtype=float32)
    """
    return igammac_p.bind(a, x)


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of :func:`igamma` by ``a``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.igamma_grad_a(jnp.array([1.0]), jnp.array([1.0])) < 0
        Array([ True], dtype=bool)
    """
    return igamma_grad_a_p.bind(a, x)


def _by_x(a: Any, x: Any) -> Any:
    return exp(sub(sub(mul(sub(a, scalar(1, a)), log(x)), x), lgamma(a)))


@partials(rules, igamma_p)
def _igamma_partials(y: Any, a: Any, x: Any) -> tuple[Any, Any]:
    return (lambda: igamma_grad_a(a, x), lambda: _by_x(a, x))


@partials(rules, igammac_p)
def _igammac_partials(y: Any, a: Any, x: Any) -> tuple[Any, Any]:
    return (lambda: neg(igamma_grad_a(a, x)), lambda: neg(_by_x(a, x)))


# Programs -----------------------------------------------------------------------------------------


def _eps(x: Any) -> float:
    return float(np.finfo(aval_of(x).dtype).eps)


def _some(which: Any) -> Any:
    return reduce_or(which, tuple(range(aval_of(which).ndim)))


def _kept(active: Any, new: tuple[Any, ...], old: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(select(active, n, o) for n, o in zip(new, old, strict=True))


def _series(a: Any, x: Any, active: Any) -> tuple[Any, Any]:
    """The sum and its derivative by ``a``."""
    eps = _eps(x)

    def step(carry: Any) -> Any:
        n, active, *old = carry
        term, term_a, total, total_a = old
        n = n + 1
        ratio = x / (a + n)
        term_a = ratio * (term_a - term / (a + n))
        term = ratio * term
        new = (term, term_a, total + term, total_a + term_a)
        more = (abs_(new[0]) > eps * abs_(new[2])) | (abs_(new[1]) > eps * abs_(new[3]))
        return n, active & more, *_kept(active, new, tuple(old))

    one, zero = full_like(x, 1), full_like(x, 0)
    first = aval_of(x).dtype.type(0)
    found = while_loop(
        lambda c: _some(c[1]) & (c[0] < _MOST_TERMS), step, (first, active, one, zero, one, zero)
    )
    return found[4], found[5]


def _fraction(a: Any, x: Any, active: Any) -> tuple[Any, Any]:
    """The fraction and its derivative by ``a``, by Lentz's products of ratios ``c`` and ``d``."""
    eps = _eps(x)
    least = aval_of(x).dtype.type(1e-30)

    def apart_from_zero(v: Any) -> Any:
        return select(abs_(v) < least, full_like(v, least), v)

    def step(carry: Any) -> Any:
        n, active, *old = carry
        c, c_a, d, d_a, value, value_a = old
        n = n + 1
        b = x - a + (2 * n + 1)
        numerator = n * (a - n)
        bottom = apart_from_zero(b + numerator * d)
        bottom_a = numerator * d_a + n * d - 1
        new_c = apart_from_zero(b + numerator / c)
        new_c_a = (n - numerator * c_a / c) / c - 1
        d = 1 / bottom
        d_a = -bottom_a * d * d
        factor = new_c * d
        factor_a = new_c_a * d + new_c * d_a
        new = (new_c, new_c_a, d, d_a, value * factor, value_a * factor + value * factor_a)
        more = (abs_(new[4] - value) > eps * abs_(value)) | (
            abs_(new[5] - value_a) > eps * (abs_(value) + abs_(value_a))
        )
        return n, active & more, *_kept(active, new, tuple(old))

    zero = full_like(x, 0)
    d = 1 / apart_from_zero(x - a + 1)
    first = aval_of(x).dtype.type(0)
    start = (first, active, full_like(x, 1e30), zero, d, d * d, d, d * d)
    found = while_loop(lambda c: _some(c[1]) & (c[0] < _MOST_TERMS), step, start)
    return found[6], found[7]


def _logarithm_of_factor(a: Any, x: Any) -> Any:
    return a * log(x) - x - lgamma(a)


def _both(a: Any, x: Any) -> tuple[Any, ...]:
    """The choice of the fraction, the masks of the domain, and the values of both expansions."""
    outside = (x < 0) | (a < 0) | (x != x) | (a != a) | ((a == 0) & (x == 0))
    outside = outside | ((a == np.inf) & (x == np.inf))
    inside = ~outside & (x > 0) & (x < np.inf) & (a > 0) & (a < np.inf)
    above = (x > 1) & (x > a)
    # Elsewhere the loops run on numbers for which they end at once.
    safe_a, safe_x = (select(inside, v, full_like(v, 1)) for v in (a, x))
    # Where the common factor is 0, the value of the expansion is irrelevant.
    factor = exp(_logarithm_of_factor(safe_a, safe_x))
    active = inside & (factor > 0)
    series = _series(safe_a, safe_x, active & ~above)
    fraction = _fraction(safe_a, safe_x, active & above)
    return above, outside, inside, safe_a, safe_x, factor, series, fraction


def _upper_or_lower(a: Any, x: Any, *, upper: bool) -> Any:
    above, outside, inside, safe_a, _, factor, (total, _), (tail, _) = _both(a, x)
    low, high = factor * total / safe_a, factor * tail
    found = select(above, high, 1 - low) if upper else select(above, 1 - high, low)
    # P is 0 at x = 0 and at a = infinity, and 1 at x = infinity and at a = 0; Q is 1 - P.
    all_above = (x == 0) | (a == np.inf)
    edge = select(all_above, full_like(x, upper), full_like(x, not upper))
    return select(outside, full_like(x, np.nan), select(inside, found, edge))


@in_working_precision
def igamma_program(a: Any, x: Any) -> Any:
    """P(a, x), for devices without this operation."""
    return _upper_or_lower(a, x, upper=False)


@in_working_precision
def igammac_program(a: Any, x: Any) -> Any:
    """Q(a, x), for devices without this operation."""
    return _upper_or_lower(a, x, upper=True)


def _derivative(a: Any, x: Any, *, of_sample: bool) -> Any:
    above, outside, inside, safe_a, safe_x, factor, (s, s_a), (f, f_a) = _both(a, x)
    logarithm = log(safe_x)
    low = s_a + s * (logarithm - digamma(safe_a + 1))
    high = f_a + f * (logarithm - digamma(safe_a))
    # P has the density factor / x; at a fixed quantile dx/da is -(dP/da) / density.
    scale = -safe_x if of_sample else factor
    found = select(above, -high, low / safe_a) * scale
    outside = outside | (a == 0)
    return select(
        outside, full_like(x, np.nan), select(inside & (factor > 0), found, full_like(x, 0))
    )


@in_working_precision
def igamma_grad_a_program(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) by ``a``, for devices without this operation."""
    return _derivative(a, x, of_sample=False)


def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of samples of Gamma(a, 1) by ``a``, at samples ``x``.

    It is the motion of a fixed quantile, ``-(dP/da) / (dP/dx)``.

    Example:
        >>> from plugjax import lax
        >>> lax.random_gamma_grad(1.0, 2.0)
        Array(1.631691, dtype=float32)
    """
    return random_gamma_grad_program(a, x)


@in_working_precision
def random_gamma_grad_program(a: Any, x: Any) -> Any:
    """See :func:`random_gamma_grad`."""
    return _derivative(a, x, of_sample=True)
