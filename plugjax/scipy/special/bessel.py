"""Bessel functions."""

from __future__ import annotations

import operator

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.numpy.joining import stack
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.selection import where
from plugjax.scipy.special.operands import one_floating, one_inexact

__all__ = ["bessel_jn", "i0", "i0e", "i1", "i1e"]


def i0e(x: ArrayLike) -> Array:
    """``exp(-abs(x)) * i0(x)``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.i0e(jnp.array([0.0]))
        Array([1.], dtype=float32)
    """
    return lax.bessel_i0e(one_inexact("i0e", x))


def i0(x: ArrayLike) -> Array:
    """The modified Bessel function ``I_0``.

    Example:
        >>> from plugjax.scipy import special
        >>> special.i0(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    x = one_inexact("i0", x)
    return lax.exp(lax.max(x, lax.neg(x))) * lax.bessel_i0e(
        x
    )  # The larger argument has derivative 0 at 0.


def i1e(x: ArrayLike) -> Array:
    """``exp(-abs(x)) * i1(x)``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.i1e(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.208], dtype=float32)
    """
    return lax.bessel_i1e(one_inexact("i1e", x))


def i1(x: ArrayLike) -> Array:
    """The modified Bessel function ``I_1``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.i1(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.565], dtype=float32)
    """
    x = one_inexact("i1", x)
    return lax.exp(lax.abs(x)) * lax.bessel_i1e(x)


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Bessel functions of the first kind of the orders ``0 ... v``, as a new first axis.

    Args:
        z: arguments, of absolute value below ``n_iter``.
        v: the highest order.
        n_iter: the order from which the recurrence descends.

    Reference:
        DLMF 3.6(iii): Miller's algorithm, normalized by ``J_0 + 2 J_2 + 2 J_4 + ... = 1``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.bessel_jn(jnp.array([0.0]), v=1)
        Array([[1.],
               [0.]], dtype=float32)
    """
    z = one_floating("bessel_jn", z, any_width=False)
    highest, start = operator.index(v), int(n_iter)
    at_zero = z == 0
    safe = where(at_zero, 1.0, z)
    above, here = lax.full_like(safe, 0), lax.full_like(safe, 1e-16)
    total = lax.full_like(safe, 0)
    orders: list[Array] = []
    for k in range(start, -1, -1):
        above, here = here, 2 * (k + 1) / safe * here - above
        # Only ratios matter: scale all numbers down before they overflow.
        scale = where(lax.abs(here) > 1e10, 1e-20, lax.full_like(here, 1))
        above, here, total = above * scale, here * scale, total * scale
        orders = [y * scale for y in orders]
        if k % 2 == 0:
            total = total + (here if k == 0 else 2 * here)
        if k <= highest:
            orders.append(here)
    if not orders:
        return lax.full((0, *z.shape), 0, z.dtype)
    found = [where(at_zero, float(k == 0), y / total) for k, y in enumerate(reversed(orders))]
    return stack(found)
