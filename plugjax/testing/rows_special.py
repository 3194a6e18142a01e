"""Rows of the special functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special

from plugjax import lax
from plugjax.testing.row import Op, both, in_float64, real
from plugjax.testing.rows_elementwise import unary

_PAIR = ((3, 4), (3, 4))
# On both sides of the point where the expansion changes.
_AROUND = both(real(0.4, 6), real(0.1, 9))


def _without_derivative(name: str) -> Any:
    """A function that refuses tangents, on constants."""
    return lambda lax, x, y: getattr(lax, name)(lax.stop_gradient(x), lax.stop_gradient(y))


def _polygamma(m: Any, x: Any) -> Any:
    return scipy.special.polygamma(m.astype(np.int64), x)


def _igamma_by_a(a: Any, x: Any) -> Any:
    """The derivative by extrapolated central differences."""

    def slope(h: float) -> Any:
        return (scipy.special.gammainc(a + h, x) - scipy.special.gammainc(a - h, x)) / (2 * h)

    return (4 * slope(5e-4) - slope(1e-3)) / 3


SPECIAL: Sequence[Op] = (
    unary(lax.lgamma_p, "lgamma", in_float64(scipy.special.gammaln), real(2.5, 5), rtol=1e-5),
    unary(lax.digamma_p, "digamma", in_float64(scipy.special.psi), real(2, 5), rtol=1e-5),
    Op("polygamma", lax.polygamma_p, "polygamma", in_float64(_polygamma),
       lambda rng: (rng.integers(0, 3, (3, 4)).astype(np.float32), *real(1, 3)(rng)),
       2, wrt=(1,), rtol=1e-5),
    Op("zeta", lax.zeta_p, _without_derivative("zeta"), in_float64(scipy.special.zeta),
       both(real(1.5, 4), real(0.5, 3)), rtol=1e-5),
    unary(lax.bessel_i0e_p, "bessel_i0e", in_float64(scipy.special.i0e), real(0.5, 12), rtol=1e-5),
    unary(lax.bessel_i1e_p, "bessel_i1e", in_float64(scipy.special.i1e), real(0.5, 12), rtol=1e-5),
    Op("igamma", lax.igamma_p, "igamma", in_float64(scipy.special.gammainc), _AROUND, 2, wrt=(1,),
       rtol=1e-5),
    Op("igamma by its first argument", lax.igamma_p, "igamma", in_float64(scipy.special.gammainc),
       _AROUND, 1, wrt=(0,), rtol=1e-5),
    Op("igammac", lax.igammac_p, "igammac", in_float64(scipy.special.gammaincc), _AROUND, 2,
       wrt=(1,), rtol=1e-5),
    Op("igamma_grad_a", lax.igamma_grad_a_p, _without_derivative("igamma_grad_a"),
       in_float64(_igamma_by_a), _AROUND, rtol=2e-5),
    Op("regularized_incomplete_beta", lax.regularized_incomplete_beta_p, "betainc",
       in_float64(scipy.special.betainc), both(real(0.5, 4, *_PAIR), real(0.1, 0.9)), 2, wrt=(2,),
       rtol=1e-5),
)  # fmt: skip
