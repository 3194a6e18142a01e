"""Polynomials of one variable as vectors of coefficients, the highest power first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, Tracer, from_host
from plugjax.extend.errors import ConcretizationTypeError
from plugjax.lax.promotion import join
from plugjax.numpy import linalg
from plugjax.numpy.convolution import convolve
from plugjax.numpy.creation import arange, full, ones, zeros
from plugjax.numpy.editing import trim_zeros
from plugjax.numpy.grids import diag, vander
from plugjax.numpy.joining import concatenate
from plugjax.numpy.linear_algebra import dot, outer
from plugjax.numpy.manipulation import atleast_1d
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    limits,
    same_dtype,
    to_inexact,
)
from plugjax.numpy.selection import where
from plugjax.numpy.tiling import roll

__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots",
]  # fmt: skip


def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """Value of a polynomial, by Horner's rule.

    Args:
        p: coefficients along the first axis; further axes broadcast with ``x``.
        x: arguments.
        unroll: steps per iteration of the loop, as in ``lax.scan``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.polyval(jnp.array([2.0, 0.0, 1.0]), 3.0)
        Array(19., dtype=float32)
    """
    coefficients, at = same_dtype("polyval", p, x)
    shape = np.broadcast_shapes(coefficients.shape[1:], at.shape)
    start = lax.full_like(at, 0, shape=shape)
    found, _ = lax.scan(lambda y, c: (y * at + c, None), start, coefficients, unroll=unroll)
    return found


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Sum of two polynomials.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([9, 5, 4]))
        Array([9, 6, 6], dtype=int32)
    """
    long, short = same_dtype("polyadd", a1, a2)
    if long.shape[0] < short.shape[0]:
        long, short = short, long
    return long.at[-short.shape[0] :].add(short)


def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Difference of two polynomials.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.polysub(jnp.array([1, 2, 3]), jnp.array([1, 1]))
        Array([1, 1, 2], dtype=int32)
    """
    first, second = same_dtype("polysub", a1, a2)
    return polyadd(first, -second)


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Product of two polynomials.

    Args:
        a1: one factor.
        a2: the other.
        trim_leading_zeros: as NumPy does; the factors must then be concrete.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.polymul(jnp.array([1.0, 1.0]), jnp.array([1.0, -1.0]))
        Array([ 1.,  0., -1.], dtype=float32)
    """
    factors = same_dtype("polymul", a1, a2, inexact=True)
    if not all(f.ndim for f in factors):
        raise TypeError("polymul: a number is no polynomial. Give its coefficients, [x].")
    if trim_leading_zeros and any(len(f) > 1 for f in factors):
        factors = [trim_zeros(f, "f") for f in factors]
    first, second = (f if f.shape[0] else lax.full((1,), 0, f.dtype) for f in factors)
    return convolve(first, second, "full")


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials.

    Args:
        u: dividend.
        v: divisor.
        trim_leading_zeros: drop negligible leading coefficients of the remainder, as NumPy does; the polynomials must
            then be concrete. Otherwise the remainder is as long as ``u``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.polydiv(jnp.array([1.0, 3.0, 2.0]), jnp.array([1.0, 1.0]))
        (Array([1., 2.], dtype=float32), Array([0., 0., 0.], dtype=float32))
    """
    rest, divisor = same_dtype("polydiv", u, v, inexact=True)
    if not rest.ndim or not divisor.ndim:
        raise TypeError("polydiv: a number is no polynomial. Give its coefficients, [x].")
    degree = divisor.shape[0] - 1
    steps = rest.shape[0] - 1 - degree + 1
    scale = 1.0 / divisor[0]
    quotient = zeros(max(steps, 1), rest.dtype)
    for k in range(steps):
        factor = scale * rest[k]
        quotient = quotient.at[k].set(factor)
        rest = rest.at[k : k + degree + 1].add(-factor * divisor)
    if trim_leading_zeros:
        negligible = abs(rest) <= float(np.sqrt(limits(rest.dtype).eps))
        first = int(np.argmin(np.append(_static("polydiv", negligible), False)))
        rest = rest[first:]
    return quotient, rest


def _static(who: str, x: Any) -> np.ndarray[Any, Any]:
    if isinstance(x, Tracer):
        raise ConcretizationTypeError(x, f"jnp.{who} of these arguments needs concrete values.")
    return np.asarray(x)


def polyder(p: ArrayLike, m: int = 1) -> Array:
    """``m``-th derivative of a polynomial.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.polyder(jnp.array([3.0, 2.0, 1.0]))
        Array([6., 2.], dtype=float32)
    """
    m = operator.index(m)
    p = to_inexact("polyder", p)
    if not p.ndim:
        raise TypeError("polyder takes a vector of coefficients, got a scalar.")
    if m < 0:
        raise ValueError("polyder needs m >= 0; polyint integrates.")
    if m == 0:
        return p
    powers = np.arange(m, p.shape[0])[None] - np.arange(m)[:, None]
    return p[:-m] * powers.prod(0)[::-1].astype(p.dtype)


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """``m``-th integral of a polynomial, with the constants ``k`` of integration (0 by default).

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.polyint(jnp.array([2.0, 1.0]))
        Array([1., 1., 0.], dtype=float32)
    """
    m = operator.index(m)
    p, constants = same_dtype("polyint", p, 0 if k is None else k, inexact=True)
    if m < 0:
        raise ValueError("polyint needs m >= 0; polyder differentiates.")
    if not p.ndim:
        raise TypeError("polyint takes a vector of coefficients, got a scalar.")
    constants = atleast_1d(constants)
    if constants.shape == (1,):
        constants = full((m,), constants[0])
    if constants.shape != (m,):
        raise ValueError(
            f"polyint: k holds one constant, or m={m} of them, got shape {constants.shape}."
        )
    if m == 0:
        return p
    powers = np.arange(p.shape[0] + m)[None] - np.arange(m)[:, None]
    divisors = np.maximum(1, powers).prod(0, dtype=np.float64)[::-1]
    return concatenate((p, constants)) / divisors.astype(p.dtype)


def poly(seq_of_zeros: ArrayLike) -> Array:
    """Polynomial with given zeros, or the characteristic polynomial of a square matrix.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.poly(jnp.array([1.0, 2.0]))
        Array([ 1., -3.,  2.], dtype=float32)
    """
    at = atleast_1d(to_inexact("poly", seq_of_zeros))
    if at.ndim == 2 and at.shape[0] == at.shape[1] != 0:
        at = linalg.eigvals(at)
    if at.ndim != 1:
        raise ValueError(f"poly takes a vector of zeros, or a square matrix, got shape {at.shape}.")
    if not at.shape[0]:
        return ones((), at.dtype)
    found = ones((1,), at.dtype)
    for k in range(at.shape[0]):
        # Multiply by (x - z): the coefficients, shifted, minus z times the coefficients.
        shifted = lax.pad(found, found.dtype.type(0), [(0, 1, 0)])
        found = shifted - at[k] * lax.pad(found, found.dtype.type(0), [(1, 0, 0)])
    return found


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """Zeros of a polynomial, complex: the eigenvalues of its companion matrix.

    Args:
        p: coefficients.
        strip_zeros: drop leading zeros, which needs concrete coefficients. ``False`` works under ``jit``: each leading
            zero then gives a nan at the end.

    Raises:
        ConcretizationTypeError: ``strip_zeros`` with traced coefficients.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.sort(jnp.roots(jnp.array([1.0, -3.0, 2.0])).real)
        Array([1., 2.], dtype=float32)
    """
    c = atleast_1d(to_inexact("roots", p))
    if c.ndim != 1:
        raise ValueError(f"roots takes a vector of coefficients, got shape {c.shape}.")
    if c.shape[0] < 2:
        return zeros((0,), _complex(c.dtype))
    if strip_zeros:
        if isinstance(c, Tracer):
            raise ConcretizationTypeError(
                c,
                "roots: leading zeros cannot be seen in traced coefficients. Pass strip_zeros=False: each of them "
                "then gives a nan.",
            )
        nonzero = np.flatnonzero(np.asarray(c))
        return _eigenvalues(c[nonzero[0] if len(nonzero) else c.shape[0] :])
    is_zero = c == 0
    leading = where(is_zero.all(), c.shape[0], is_zero.argmin())
    found = _eigenvalues(roll(where(leading == c.shape[0], 1.0, c), -leading))
    # The zeros moved to the end give roots 0; these are last and become nan.
    found = found[(found == 0).argsort()]
    return where(arange(found.shape[0]) < found.shape[0] - leading, found, complex(np.nan, np.nan))


def _complex(dtype: Any) -> Any:
    return join([(dtype, False), (dtypes.COMPLEX64, False)])


def _eigenvalues(p: Array) -> Array:
    if p.shape[0] < 2:
        return zeros((0,), _complex(p.dtype))
    companion = diag(ones((p.shape[0] - 2,), p.dtype), -1)
    return linalg.eigvals(companion.at[0, :].set(-p[1:] / p[0]))


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """Coefficients of the polynomial with the least squared distance to points.

    Args:
        x: ``[n]``, coordinates.
        y: ``[n]`` or ``[n, k]``, the values there.
        deg: degree.
        rcond: singular values below this share of the largest are ignored.
        full: also return residuals, rank, singular values and ``rcond``.
        w: ``[n]``, weights of the residuals.
        cov: also return the covariance matrix of the coefficients; ``"unscaled"`` leaves out the scale of the
            residuals.

    Returns:
        Coefficients ``[deg + 1]`` or ``[deg + 1, k]``, and the other requested results.

    Raises:
        TypeError: shapes do not fit.
        ValueError: a negative degree, or too few points for a covariance.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.round(jnp.polyfit(jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 5.0]), 1), 3)
        Array([2., 1.], dtype=float32)
    """
    xs, ys = as_operand("polyfit", x), as_operand("polyfit", y)
    order = operator.index(deg) + 1
    if order < 1:
        raise ValueError("polyfit needs deg >= 0.")
    for wrong, message in (
        (xs.ndim != 1, "polyfit: x is not a vector."),
        (xs.size == 0, "polyfit: x is empty."),
        (ys.ndim not in (1, 2), "polyfit: y is neither a vector nor a matrix."),
    ):
        if wrong:
            raise TypeError(message)
    if xs.shape[0] != ys.shape[0]:
        raise TypeError(f"polyfit: x and y differ in length, {xs.shape[0]} and {ys.shape[0]}.")
    if rcond is None:
        rcond = xs.shape[0] * float(limits(xs.dtype).eps)
    lhs, rhs = vander(xs, order), ys
    if w is not None:
        weights = to_inexact("polyfit", w)
        if weights.ndim != 1:
            raise TypeError("polyfit: w is not a vector.")
        if weights.shape != ys.shape[:1]:
            raise TypeError("polyfit: w and y differ in length.")
        lhs = lhs * weights[:, None]
        rhs = rhs * (weights[:, None] if rhs.ndim == 2 else weights)
    # Columns of length 1 improve the condition number.
    scale = lax.sqrt((lhs * lhs).sum(0))
    lhs = lhs / scale[None, :]
    found, residuals, rank, singular = linalg.lstsq(lhs, rhs, rcond)
    found = found / (scale[:, None] if found.ndim == 2 else scale)
    if full:
        return (
            found,
            residuals,
            rank,
            singular,
            from_host(np.asarray(rcond, dtypes.canonicalize(float)), weak_type=True),
        )
    if not cov:
        return found
    base = linalg.inv(dot(lhs.T, lhs)) / outer(scale, scale)
    if cov == "unscaled":
        factor: Any = ones((), base.dtype)
    elif xs.shape[0] <= order:
        raise ValueError(
            f"polyfit: a scaled covariance needs more than {order} points; cov='unscaled' does not."
        )
    else:
        factor = residuals / (xs.shape[0] - order)
    factor = atleast_1d(factor)
    return found, base * factor[None] if ys.ndim == 1 else base[:, :, None] * factor[None, None, :]
