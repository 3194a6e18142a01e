"""What the arguments of distributions become, and how a family follows from its standard member.

If Z has the density f and the distribution function F, then X = loc + scale Z has the density f(z) / scale and the distribution
function F(z) at z = (x - loc) / scale, and -X belongs to the mirrored family at -loc: each module states f, F and the quantiles of its
standard member, and places them.

Constants stand beside the place, ``scalar(2, x)``, where JAX has them there: so weak arrays give a weak or a strong result as in JAX.

An argument that is nan makes the result nan, as in SciPy, also where JAX takes it for a place inside or outside of the support.
"""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.core.array import Array
from plugjax.core.errors import DtypeError
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    check_width,
    promote_many_inexact,
    rounded,
)

# JAX compiles these as a whole, and makes Python integers arrays before it looks at them.
_COMPILED = ("betabinom.", "truncnorm.")


def inexact(who: str, *args: ArrayLike) -> list[Operand]:
    """The arguments with one inexact dtype, and ranks that lax accepts.

    Raises:
        TypeError: one of them is no array-like.
    """
    if who.startswith(_COMPILED):
        for x in args:
            check_width(x)
        return promote_many_inexact(who, *args)
    return promote_many_inexact(who, *rounded(*args))


def real(who: str, *args: ArrayLike) -> list[Any]:
    """The arguments with one floating dtype, and ranks that lax accepts.

    Raises:
        TypeError: one of them is complex.
    """
    found = inexact(who, *args)
    if found[0].dtype.kind == "c":
        raise DtypeError(f"{who} takes real numbers, got {found[0].dtype.name}.")
    return found


def standardized(who: str, x: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> tuple[Any, Any, Any]:
    """``(x - loc) / scale``, ``x`` and ``scale``, of one inexact dtype."""
    x, loc, scale = inexact(who, x, loc, scale)
    return lax.div(lax.sub(x, loc), scale), x, scale


def mirrored(who: str, x: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> tuple[Any, Any, Any]:
    """The place, location and scale of ``-X``: ``-x``, ``-loc`` and ``scale``."""
    x, loc, scale = inexact(who, x, loc, scale)
    return lax.neg(x), lax.neg(loc), scale


def no_probability(q: Operand) -> Array:
    """Whether ``q`` lies outside of [0, 1], or is no number."""
    outside: Array = (q != q) | (q < 0) | (q > 1)
    return outside
