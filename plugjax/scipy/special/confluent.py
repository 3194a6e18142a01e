"""Kummer's function M(a, b, x), the sum of ``(a)_k x**k / ((b)_k k!)``.

Terms of changing signs cancel: for negative x the sum is that of ``exp(x) M(b - a, b, -x)`` (DLMF 13.2.39). For large x
an asymptotic expansion is used (DLMF 13.7.1), unless the sum is finite.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.extend.execution import jit
from plugjax.extend.transforms import jvp
from plugjax.numpy.promotion import ArrayLike, broadcast_together
from plugjax.numpy.selection import where
from plugjax.scipy.special.hypergeometric_series import (
    along,
    ends,
    ends_before,
    gamma_quotient,
    series,
    series_slopes,
)
from plugjax.scipy.special.operands import as_arrays, floating, strong

__all__ = ["hyp1f1"]

_ASYMPTOTIC_TERMS = 60


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The confluent hypergeometric function M(a, b, x) of real numbers.

    It is infinite where ``b`` is zero or a negative integer, unless the sum ends before.

    Raises:
        ValueError: complex numbers.

    Example:
        >>> from plugjax.scipy import special
        >>> special.hyp1f1(-1.0, 2.0, 1.0)
        Array(0.5, dtype=float32)
    """
    operands = [strong(v) for v in floating("hyp1f1", *as_arrays(a, b, x), any_width=False)]
    dtype = operands[0].dtype
    if dtype.itemsize < 4:
        operands = [v.astype(np.float32) for v in operands]
    return _hyp1f1(*broadcast_together(*operands)).astype(dtype)


def _far(x: Any) -> float:
    """The bound of the expansion; its exponential must not overflow."""
    return 50.0 if x.dtype.itemsize == 4 else 100.0


@custom_jvp
@jit
def _hyp1f1(a: Any, b: Any, x: Any) -> Array:
    mirrored = (x < 0) & ~ends(a)
    p, size = where(mirrored, b - a, a), where(mirrored, -x, x)
    far = (size >= _far(x)) & ~ends(p)
    near = lax.exp(where(mirrored, x, 0.0)) * series((p,), (b,), where(far, 0.0, size), ~far)
    found = where(far, _expansion(p, b, size, mirrored, far), near)
    found = where((a == b) & (a != 0), lax.exp(x), found)
    infinite = ends(b) & (a != b) & ~ends_before(a, b) & (x == x)
    return where(infinite, np.inf, found)


def _expansion(a: Any, b: Any, x: Any, mirrored: Any, needed: Any) -> Any:
    """``M(a, b, x)`` for large ``x``, times ``exp(-x)`` where ``mirrored``."""
    large = where(needed, x, _far(x))
    total = series((b - a, 1 - a), (), 1 / large, needed, _ASYMPTOTIC_TERMS)
    growth = lax.log(large) * (a - b) + where(mirrored, 0.0, large)
    return total * gamma_quotient((b,), (a,), where(needed, growth, 0.0))


@jit
def _by_parameters(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Derivatives by ``a`` and ``b``."""
    mirrored = x < 0
    p, size = where(mirrored, b - a, a), lax.abs(x)
    far = size >= _far(x)
    _, by_p, by_b = series_slopes((p,), (b,), where(far, 0.0, size))
    growth = lax.exp(where(mirrored, x, 0.0))
    one, zero = lax.full_like(x, 1), lax.full_like(x, 0)

    def expansion(p: Any, b: Any) -> Any:
        return _expansion(p, b, size, mirrored, far)

    by_p = where(far, jvp(expansion, (p, b), (one, zero))[1], growth * by_p)
    by_b = where(far, jvp(expansion, (p, b), (zero, one))[1], growth * by_b)
    return where(mirrored, -by_p, by_p), where(mirrored, by_p + by_b, by_b)


def _hyp1f1_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    a, b, x = primals
    by_parameters = functools.cache(lambda: _by_parameters(a, b, x))
    slopes = (
        lambda: by_parameters()[0],
        lambda: by_parameters()[1],
        lambda: a / b * _hyp1f1(a + 1, b + 1, x),
    )
    return _hyp1f1(a, b, x), along(tangents, slopes)


_hyp1f1.defjvp(_hyp1f1_jvp, symbolic_zeros=True)
