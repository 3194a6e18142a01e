"""Arguments of distributions, and families that follow from a standard member.

If Z has the density f and the distribution function F, then X = loc + scale Z has the density f(z) / scale and the
distribution function F(z) at z = (x - loc) / scale, and -X belongs to the mirrored family at -loc. Each module defines
f, F and the quantiles of its standard member, and applies loc and scale.

Constants are made beside ``x``, ``scalar(2, x)``, where JAX makes them so: weak arrays then give a weak or a strong
result as in JAX.

A nan argument makes the result nan, as in SciPy, also where JAX treats it as a point inside or outside of the support.
"""

from __future__ import annotations

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.errors import DtypeError
from plugjax.numpy.promotion import ArrayLike, Operand
from plugjax.scipy.special.operands import inexact

__all__ = ["inexact", "mirrored", "no_probability", "real", "standardized"]


def real(who: str, *args: ArrayLike) -> list[Operand]:
    """The arguments with one floating dtype, and ranks that lax accepts.

    Raises:
        TypeError: one of them is complex.
    """
    found = inexact(who, *args)
    if found[0].dtype.kind == "c":
        raise DtypeError(f"{who} takes real numbers, got {found[0].dtype.name}.")
    return found


def standardized(
    who: str, x: ArrayLike, loc: ArrayLike, scale: ArrayLike
) -> tuple[Operand, Operand, Operand]:
    """``(x - loc) / scale``, ``x`` and ``scale``, of one inexact dtype."""
    x, loc, scale = inexact(who, x, loc, scale)
    return lax.div(lax.sub(x, loc), scale), x, scale


def mirrored(
    who: str, x: ArrayLike, loc: ArrayLike, scale: ArrayLike
) -> tuple[Operand, Operand, Operand]:
    """``x``, ``loc`` and ``scale`` of ``-X``: ``-x``, ``-loc`` and ``scale``."""
    x, loc, scale = inexact(who, x, loc, scale)
    return lax.neg(x), lax.neg(loc), scale


def no_probability(q: Operand) -> Array:
    """Whether ``q`` is outside of [0, 1], or nan."""
    outside: Array = (q != q) | (q < 0) | (q > 1)
    return outside
