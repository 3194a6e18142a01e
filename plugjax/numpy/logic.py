"""Comparison, truth values and tests of elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import BOOL, ExtendedDType
from plugjax.numpy.creation import asarray
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    as_operands,
    check_numbers,
    convert,
    converted,
    pick,
    promote_args,
    reject_out,
    scalar,
)

__all__ = [
    "allclose", "array_equal", "array_equiv", "equal", "greater", "greater_equal", "isclose", "iscomplex",
    "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "less", "less_equal", "logical_and",
    "logical_not", "logical_or", "logical_xor", "not_equal",
]  # fmt: skip


def equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether ``x == y``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.equal(jnp.array([1, 2]), 2)
        Array([False,  True], dtype=bool)
    """
    x, y = promote_args("equal", x, y)
    return lax.eq(x, y)


def not_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether ``x != y``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.not_equal(jnp.array([1, 2]), 2)
        Array([ True, False], dtype=bool)
    """
    x, y = promote_args("not_equal", x, y)
    return lax.ne(x, y)


def less(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether ``x < y``; complex numbers in lexicographic order.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.less(jnp.arange(3), 1)
        Array([ True, False, False], dtype=bool)
    """
    x, y = promote_args("less", x, y)
    if x.dtype.kind == "c":
        return _lexicographic(x, y, lax.lt)
    return lax.lt(x, y)


def less_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether ``x <= y``; complex numbers in lexicographic order.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.less_equal(jnp.array([1, 3]), 2)
        Array([ True, False], dtype=bool)
    """
    x, y = promote_args("less_equal", x, y)
    if x.dtype.kind == "c":
        return _lexicographic(x, y, lax.le)
    return lax.le(x, y)


def greater(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether ``x > y``; complex numbers in lexicographic order.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.greater(jnp.array([1, 3]), 2)
        Array([False,  True], dtype=bool)
    """
    x, y = promote_args("greater", x, y)
    if x.dtype.kind == "c":
        return _lexicographic(x, y, lax.gt)
    return lax.gt(x, y)


def greater_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether ``x >= y``; complex numbers in lexicographic order.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.greater_equal(jnp.array([1, 2]), 2)
        Array([False,  True], dtype=bool)
    """
    x, y = promote_args("greater_equal", x, y)
    if x.dtype.kind == "c":
        return _lexicographic(x, y, lax.ge)
    return lax.ge(x, y)


def _lexicographic(x: Array, y: Array, compare: Callable[..., Array]) -> Array:
    x_real, y_real = lax.real(x), lax.real(y)
    return pick(lax.eq(x_real, y_real), compare(lax.imag(x), lax.imag(y)), compare(x_real, y_real))


def _truth(x: Array) -> Array:
    return x if x.dtype == BOOL else lax.ne(x, scalar(0, x))


def logical_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Conjunction, of truth values: a number is true unless it is 0."""
    x, y = promote_args("logical_and", x, y)
    return lax.bitwise_and(_truth(x), _truth(y))


def logical_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Disjunction, of truth values: a number is true unless it is 0."""
    x, y = promote_args("logical_or", x, y)
    return lax.bitwise_or(_truth(x), _truth(y))


def logical_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Exclusive disjunction, of truth values: a number is true unless it is 0."""
    x, y = promote_args("logical_xor", x, y)
    return lax.bitwise_xor(_truth(x), _truth(y))


def logical_not(x: ArrayLike, /) -> Array:
    """Negation of truth values: a number is true unless it is 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.logical_not(jnp.array([True, False]))
        Array([False,  True], dtype=bool)
    """
    return lax.bitwise_not(_truth(as_operand("logical_not", x)))


def isfinite(x: ArrayLike, /) -> Array:
    """Whether neither infinite nor nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
        Array([ True, False, False], dtype=bool)
    """
    x = as_operand("isfinite", x)
    if x.dtype.kind == "c":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    if not dtypes.is_inexact(x.dtype):
        return lax.full(x.shape, True)
    return lax.is_finite(x)


def isnan(x: ArrayLike, /) -> Array:
    """Whether nan.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isnan(jnp.array([1.0, jnp.inf, jnp.nan]))
        Array([False, False,  True], dtype=bool)
    """
    x = as_operand("isnan", x)
    return lax.ne(x, x)


def isinf(x: ArrayLike, /) -> Array:
    """Whether infinite, of either sign; for complex numbers, in either part.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isinf(jnp.array([1.0, jnp.inf, jnp.nan]))
        Array([False,  True, False], dtype=bool)
    """
    x = as_operand("isinf", x)
    if x.dtype.kind == "c":
        return lax.bitwise_or(isinf(lax.real(x)), isinf(lax.imag(x)))
    if not dtypes.is_inexact(x.dtype):
        return lax.full(x.shape, False)
    return lax.eq(lax.abs(x), scalar(np.inf, x))


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether positive infinity.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isposinf(jnp.array([jnp.inf, -jnp.inf]))
        Array([ True, False], dtype=bool)
    """
    reject_out("isposinf", out)
    return _is_infinity("isposinf", x, np.inf)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether negative infinity.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isneginf(jnp.array([jnp.inf, -jnp.inf]))
        Array([False,  True], dtype=bool)
    """
    reject_out("isneginf", out)
    return _is_infinity("isneginf", x, -np.inf)


def _is_infinity(who: str, x: ArrayLike, value: float) -> Array:
    x = as_operand(who, x)
    if x.dtype.kind == "c":
        raise ValueError(f"{who} takes real numbers: a complex infinity has no sign.")
    if not dtypes.is_inexact(x.dtype):
        return lax.full(x.shape, False)
    return lax.eq(x, scalar(value, x))


def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Whether ``|a - b| <= atol + rtol * |b|``, element by element.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.1]))
        Array([ True, False], dtype=bool)
    """
    a, b = promote_args("isclose", a, b)
    dtype = a.dtype
    if isinstance(dtype, ExtendedDType):  # Random keys are close if they are equal.
        return lax.eq(a, b)
    if dtype == BOOL:
        dtype = dtypes.INT32
        a, b = converted(a, dtype), converted(b, dtype)
    if not dtypes.is_inexact(dtype):
        dtype = dtypes.to_inexact(dtype)
        a, b = converted(a, dtype), converted(b, dtype)
    distance = lax.abs(lax.sub(a, b))
    bound = lax.add(
        converted(as_operand("isclose", atol), distance.dtype),
        lax.mul(converted(as_operand("isclose", rtol), distance.dtype), lax.abs(b)),
    )
    finite = lax.bitwise_and(isfinite(a), isfinite(b))
    close = pick(finite, lax.le(distance, bound), lax.eq(a, b))
    if equal_nan:
        close = lax.bitwise_or(close, lax.bitwise_and(lax.ne(a, a), lax.ne(b, b)))
    return convert(close, BOOL)


def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Whether :func:`isclose` holds for all elements.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0 + 1e-7]))
        Array(True, dtype=bool)
    """
    return _all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Whether two arrays have one shape and the same elements.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([1, 2]))
        Array(True, dtype=bool)
    """
    a1, a2 = (asarray(a) if isinstance(a, (list, tuple)) else a for a in (a1, a2))
    a1, a2 = as_operands("array_equal", a1, a2)
    if a1.shape != a2.shape:
        return lax.full((), False)
    same = equal(a1, a2)
    if equal_nan:
        same = lax.bitwise_or(same, lax.bitwise_and(isnan(a1), isnan(a2)))
    return _all(same)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays broadcast to the same elements.

    Raises:
        TypeError: shapes of one rank do not fit; with different ranks the answer is false.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.array_equiv(jnp.array([1, 1]), jnp.array(1))
        Array(True, dtype=bool)
    """
    a1, a2 = (asarray(a) if isinstance(a, (list, tuple)) else a for a in (a1, a2))
    a1, a2 = as_operands("array_equiv", a1, a2)
    try:
        same = equal(a1, a2)
    except ValueError:
        # The ranks differ too; other shapes that do not fit are refused, as in `equal`.
        return lax.full((), False)
    return _all(same)


def _all(truth: Array) -> Array:
    return convert(lax.reduce_and(truth, tuple(range(truth.ndim))), BOOL)


def iscomplex(x: ArrayLike) -> Array:
    """Whether the imaginary part is not 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.iscomplex(jnp.array([1j, 1.0]))
        Array([ True, False], dtype=bool)
    """
    x = as_operand("iscomplex", x)
    check_numbers("iscomplex", x)
    if x.dtype.kind == "c":
        return lax.ne(lax.imag(x), scalar(0, lax.imag(x)))
    return lax.full(x.shape, False)


def isreal(x: ArrayLike) -> Array:
    """Whether the imaginary part is 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isreal(jnp.array([1j, 1.0]))
        Array([False,  True], dtype=bool)
    """
    return lax.bitwise_not(iscomplex(x))
