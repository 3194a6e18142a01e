"""What the arguments of distributions become, and how a family follows from its standard member.

If Z has the density f and the distribution function F, then X = loc + scale Z has the density f(z) / scale and the distribution
function F(z) at z = (x - loc) / scale, and -X belongs to the mirrored family at -loc: each module states f, F and the quantiles of its
standard member, and places them.

An argument that is nan makes the result nan, as in SciPy, also where JAX takes it for a place inside or outside of the support.
"""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.core.array import Array
from plugjax.numpy.promotion import ArrayLike, Operand, promote_many_inexact

inexact = promote_many_inexact


def standardized(who: str, x: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> tuple[Any, Any]:
    """``(x - loc) / scale``, and ``scale``, of one inexact dtype."""
    x, loc, scale = inexact(who, x, loc, scale)
    return lax.div(lax.sub(x, loc), scale), scale


def mirrored(who: str, x: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> tuple[Any, Any, Any]:
    """The place, location and scale of ``-X``: ``-x``, ``-loc`` and ``scale``."""
    x, loc, scale = inexact(who, x, loc, scale)
    return lax.neg(x), lax.neg(loc), scale


def no_probability(q: Operand) -> Array:
    """Whether ``q`` lies outside of [0, 1], or is no number."""
    outside: Array = (q != q) | (q < 0) | (q > 1)
    return outside
