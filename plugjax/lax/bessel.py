"""Modified Bessel functions I0 and I1, scaled by ``exp(-abs(x))``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from plugjax.extend.core import Array, ArrayLike, Primitive, aval_of
from plugjax.extend.rules import RuleSet
from plugjax.lax.arithmetic import abs as abs_, add, div, max as max_, mul, sign, sub
from plugjax.lax.comparison import gt
from plugjax.lax.exponential import rsqrt
from plugjax.lax.families import FLOAT, elementwise, partials, scalar
from plugjax.lax.selection import select
from plugjax.lax.shape import full_like
from plugjax.lax.working_precision import in_working_precision

rules = RuleSet(__name__)

bessel_i0e_p = Primitive("bessel_i0e")
bessel_i1e_p = Primitive("bessel_i1e")

for _p in (bessel_i0e_p, bessel_i1e_p):
    elementwise(rules, _p, accepts=FLOAT)


def bessel_i0e(x: ArrayLike) -> Array:
    """Elementwise ``exp(-abs(x)) * I0(x)``.

    Example:
        >>> from plugjax import lax
        >>> lax.bessel_i0e(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return bessel_i0e_p.bind(x)


def bessel_i1e(x: ArrayLike) -> Array:
    """Elementwise ``exp(-abs(x)) * I1(x)``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.bessel_i1e(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.208], dtype=float32)
    """
    return bessel_i1e_p.bind(x)


@partials(rules, bessel_i0e_p)
def _i0e_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: sub(bessel_i1e(x), mul(sign(x), y)),)


@partials(rules, bessel_i1e_p)
def _i1e_partials(y: Any, x: Any) -> tuple[Any]:
    def by_x() -> Any:
        # I1(x) / x has the limit 1/2 at 0.
        eps = full_like(x, float(ml_dtypes.finfo(aval_of(x).dtype).eps))
        apart = gt(abs_(x), eps)
        safe = select(apart, x, eps)
        found = sub(bessel_i0e(safe), mul(y, add(sign(safe), div(scalar(1, safe), safe))))
        return select(apart, found, full_like(x, 0.5))

    return (by_x,)


# Chebyshev coefficients of exp(-x) I0(x) in x / 4 - 1 for x in [0, 8], and of sqrt(x) exp(-x) I0(x) in 16 / x - 1 above;
# computed from the functions with mpmath, in 40 digits.
_NEAR = (
    0.33839763720473803,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.02373741480589947,
    0.010546460394594998,
    -0.004324309995050576,
    0.0016394756169413357,
    -0.0005763755745385824,
    0.00018850288509584165,
    -5.754195010082104e-05,
    1.6448448070728896e-05,
    -4.4167383584587505e-06,
    1.1173875391201037e-06,
    -2.670793853940612e-07,
    6.046995022541919e-08,
    -1.300025009986248e-08,
    2.6598237246823866e-09,
    -5.189795601635263e-10,
    9.675809035373237e-11,
    -1.726826291441556e-11,
    2.95505266312964e-12,
    -4.856446783111929e-13,
    7.676185498604936e-14,
    -1.1685332877993451e-14,
    1.715391285555133e-15,
    -2.431279846547955e-16,
    3.3307945188222384e-17,
    -4.4153416464793395e-18,
)
_FAR = (
    0.4022452055070544,
    0.0033691164782556943,
    6.889758346916825e-05,
    2.8913705208347567e-06,
    2.0489185894690638e-07,
    2.266668990498178e-08,
    3.3962320257083865e-09,
    4.94060238822497e-10,
    1.1889147107846439e-11,
    -3.1499165279632416e-11,
    -1.3215811840447713e-11,
    -1.7941785315068062e-12,
    7.180124451383666e-13,
    3.8527783827421426e-13,
    1.54008621752141e-14,
    -4.150569347287222e-14,
    -9.554846698828307e-15,
    3.8116806693526224e-15,
    1.7725601330565263e-15,
    -3.425485619677219e-16,
    -2.8276239805165836e-16,
    3.461222867697461e-17,
    4.46562142029676e-17,
    -4.830504485944182e-18,
    -7.233180487874754e-18,
)


def _chebyshev(coefficients: Sequence[float], x: Any) -> Any:
    """The sum of ``c_n T_n(x)``, by Clenshaw's recurrence."""
    eps = float(np.finfo(aval_of(x).dtype).eps)
    needed = [c for c in coefficients if abs(c) > 0.01 * eps]
    here = before = full_like(x, 0)
    for c in reversed(needed[1:]):
        here, before = 2 * x * here - before + c, here
    return x * here - before + needed[0]


@in_working_precision
def bessel_i0e_program(x: Any) -> Any:
    """``exp(-abs(x)) * I0(x)``, for devices that have no operation for it."""
    x = abs_(x)
    far = max_(x, full_like(x, 8))
    near = _chebyshev(_NEAR, x / 4 - 1)
    return select(x <= 8, near, _chebyshev(_FAR, 16 / far - 1) * rsqrt(far))
