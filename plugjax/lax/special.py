"""Special functions that have a StableHLO or CHLO operation of their own."""

from __future__ import annotations

from typing import Any

from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet
from plugjax.lax.arithmetic import mul, neg, square
from plugjax.lax.exponential import exp
from plugjax.lax.families import FLOAT, elementwise, partials, scalar

rules = RuleSet(__name__)

erf_p = Primitive("erf")
erfc_p = Primitive("erfc")
erf_inv_p = Primitive("erf_inv")

for _p in (erf_p, erfc_p, erf_inv_p):
    elementwise(rules, _p, accepts=FLOAT)

_TWO_OVER_SQRT_PI = 1.1283791670955126
_HALF_SQRT_PI = 0.8862269254527580


def erf(x: Any, /) -> Any:
    """Elementwise error function."""
    return erf_p.bind(x)


def erfc(x: Any, /) -> Any:
    """Elementwise complementary error function, ``1 - erf(x)`` without cancellation."""
    return erfc_p.bind(x)


def erf_inv(x: Any, /) -> Any:
    """Elementwise inverse error function, of values in [-1, 1]."""
    return erf_inv_p.bind(x)


@partials(rules, erf_p)
def _erf_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(_TWO_OVER_SQRT_PI, x), exp(neg(square(x)))),)


@partials(rules, erfc_p)
def _erfc_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(-_TWO_OVER_SQRT_PI, x), exp(neg(square(x)))),)


@partials(rules, erf_inv_p)
def _erf_inv_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(_HALF_SQRT_PI, y), exp(square(y))),)
