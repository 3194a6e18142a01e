"""Special functions with a StableHLO or CHLO operation."""

from __future__ import annotations

from typing import Any, NoReturn

from plugjax.extend.core import Array, ArrayLike, Primitive
from plugjax.extend.rules import RuleSet, jvp_rule
from plugjax.lax.arithmetic import add, mul, neg, square
from plugjax.lax.exponential import exp
from plugjax.lax.families import FLOAT, elementwise, partials, scalar

rules = RuleSet(__name__)

erf_p = Primitive("erf")
erfc_p = Primitive("erfc")
erf_inv_p = Primitive("erf_inv")

lgamma_p = Primitive("lgamma")
digamma_p = Primitive("digamma")
polygamma_p = Primitive("polygamma")
zeta_p = Primitive("zeta")

for _p in (erf_p, erfc_p, erf_inv_p, lgamma_p, digamma_p, polygamma_p, zeta_p):
    elementwise(rules, _p, accepts=FLOAT)

rules.absent(jvp_rule, zeta_p, because="its derivatives are not written, as in JAX")

_TWO_OVER_SQRT_PI = 1.1283791670955126
_HALF_SQRT_PI = 0.8862269254527580


def erf(x: ArrayLike) -> Array:
    """Elementwise error function.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.erf(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.843], dtype=float32)
    """
    return erf_p.bind(x)


def erfc(x: ArrayLike) -> Array:
    """Elementwise complementary error function, ``1 - erf(x)`` without cancellation.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.erfc(jnp.array([0.0]))
        Array([1.], dtype=float32)
    """
    return erfc_p.bind(x)


def erf_inv(x: ArrayLike) -> Array:
    """Elementwise inverse error function, of values in [-1, 1].

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.erf_inv(jnp.array([0.0, 0.5])).round(3)
        Array([0.   , 0.477], dtype=float32)
    """
    return erf_inv_p.bind(x)


def lgamma(x: ArrayLike) -> Array:
    """Elementwise logarithm of ``abs(gamma(x))``.

    Example:
        >>> from plugjax import lax
        >>> lax.lgamma(4.0)
        Array(1.7917595, dtype=float32, weak_type=True)
    """
    return lgamma_p.bind(x)


def digamma(x: ArrayLike) -> Array:
    """Elementwise derivative of :func:`lgamma`; nan at its poles.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.round(lax.digamma(jnp.array([1.0])) * 100)
        Array([-58.], dtype=float32)
    """
    return digamma_p.bind(x)


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of :func:`digamma` of order ``m``, a whole number of the dtype of ``x``.

    Raises:
        ValueError: it is differentiated by ``m``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.round(lax.polygamma(jnp.array([1.0]), jnp.array([1.0])) * 100)
        Array([164.], dtype=float32)
    """
    return polygamma_p.bind(m, x)


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Elementwise Hurwitz zeta function: the sum of ``(n + q) ** -x`` over n = 0, 1, 2, ...

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.round(lax.zeta(jnp.array([2.0]), jnp.array([1.0])) * 100)
        Array([164.], dtype=float32)
    """
    return zeta_p.bind(x, q)


@partials(rules, erf_p)
def _erf_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(_TWO_OVER_SQRT_PI, x), exp(neg(square(x)))),)


@partials(rules, erfc_p)
def _erfc_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(-_TWO_OVER_SQRT_PI, x), exp(neg(square(x)))),)


@partials(rules, erf_inv_p)
def _erf_inv_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(_HALF_SQRT_PI, y), exp(square(y))),)


@partials(rules, lgamma_p)
def _lgamma_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: digamma(x),)


@partials(rules, digamma_p)
def _digamma_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: polygamma(scalar(1, x), x),)


@partials(rules, polygamma_p)
def _polygamma_partials(y: Any, m: Any, x: Any) -> tuple[Any, Any]:
    def refuse() -> NoReturn:
        raise ValueError(
            "polygamma: a derivative in m is not supported. Stop it with lax.stop_gradient."
        )

    return refuse, lambda: polygamma(add(m, scalar(1, m)), x)
