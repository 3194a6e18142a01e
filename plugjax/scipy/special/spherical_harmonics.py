"""Spherical harmonics, by the recurrence of normalized associated Legendre functions in the degree.

With x the cosine and s the sine of the polar angle, the functions P[l] of one order m, normalized over the sphere, satisfy
``P[l] = -sqrt(1 + 1/(2 l)) s P[l-1]`` while l goes up to m along with the order, and from there on, at the order m,

    P[l] = sqrt((4 l**2 - 1) / (l**2 - m**2)) * (x P[l-1] - sqrt(((l-1)**2 - m**2) / (4 (l-1)**2 - 1)) * P[l-2]).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array, Tracer
from plugjax.extend.dtypes import is_integer
from plugjax.extend.errors import ConcretizationTypeError
from plugjax.extend.execution import jit
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operands,
    broadcast_together,
    converted,
    promote_inexact,
)
from plugjax.numpy.selection import where
from plugjax.scipy.special.operands import strong

__all__ = ["sph_harm_y"]


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Array:
    """Spherical harmonics ``Y_n^m``, orthonormal over the sphere, with the sign ``(-1)**m`` of Condon and Shortley.

    Args:
        n: degrees, integers of at least 0.
        m: orders, integers; the result is 0 where ``|m| > n``.
        theta: polar angles.
        phi: azimuths.
        diff_n: must not be given.
        n_max: the highest degree, a Python integer; higher ones are reduced to it. It is needed only if ``n`` is
            traced.

    Units:
        theta, phi: radians.

    Returns:
        Complex array, of the shape of the arguments broadcast together.

    Raises:
        ConcretizationTypeError: ``n_max`` is traced, or missing with a traced ``n``.
        NotImplementedError: ``diff_n`` is given, as in JAX.

    Differs from JAX:
        All arguments broadcast, scalars too; JAX takes the first of several ``theta`` for one ``n``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.sph_harm_y(jnp.array([1]), jnp.array([0]), 0.0, 0.0).round(4)
        Array([0.4886+0.j], dtype=complex64)
    """
    if diff_n is not None:
        raise NotImplementedError("sph_harm_y: the argument 'diff_n' is not supported")
    top = _highest(n, n_max)
    polar, azimuth = (strong(v) for v in promote_inexact("sph_harm_y", theta, phi))
    numbers = as_operands("sph_harm_y", n, m)
    if not all(is_integer(v.dtype) for v in numbers):
        raise TypeError("sph_harm_y: degrees n and orders m are integers.")
    degree, order = (converted(v, polar.dtype) for v in numbers)
    degree, order, polar, azimuth = broadcast_together(degree, order, polar, azimuth)
    size = _legendre(lax.min(degree, lax.full_like(degree, top)), lax.abs(order), polar, top)
    flipped = (order < 0) & (2 * lax.floor(0.5 * order) != order)
    size = where(flipped, -size, size)
    angle = order * azimuth
    return lax.complex(size * lax.cos(angle), size * lax.sin(angle))


def _highest(n: ArrayLike, n_max: Any) -> int:
    for value in (n, n_max):
        if isinstance(value, Tracer) and (n_max is None or value is n_max):
            raise ConcretizationTypeError(
                value, "sph_harm_y needs the highest degree, n_max, as a Python integer."
            )
    return int(np.max(np.asarray(n)) if n_max is None else n_max)


@jit(static_argnums=3)
def _legendre(degree: Any, order: Any, polar: Any, top: int) -> Any:
    """The normalized associated Legendre function of ``cos(polar)``, for degrees up to ``top``."""
    x, s = lax.cos(polar), lax.abs(lax.sin(polar))

    def raised(_: Any, carry: Any) -> Any:
        degree_here, value, before = carry
        l = degree_here + 1
        diagonal = l <= order
        down = l - 1
        width = where(diagonal, 1.0, l * l - order * order)
        ratio = where(diagonal, 0.0, (down * down - order * order) / (4 * down * down - 1))
        higher = lax.sqrt((4 * l * l - 1) / width) * (x * value - lax.sqrt(ratio) * before)
        higher = where(diagonal, -lax.sqrt(1 + 0.5 / l) * s * value, higher)
        more = l <= degree
        return l, where(more, higher, value), where(more & ~diagonal, value, before)

    zero = lax.full_like(x, 0)
    start = (zero, lax.full_like(x, math.sqrt(0.25 / math.pi)), zero)
    _, found, _ = lax.fori_loop(0, top, raised, start)
    return where(order > degree, 0.0, found)
