"""Polar factors A = U H by dynamically weighted Halley iteration.

``X <- X (a + b X^H X) (1 + c X^H X)^-1`` sends every singular value in [l, 1] towards 1; the optimal weights depend on
l alone, so they are known beforehand. Large c takes a QR factorization, small c a Cholesky factorization.

Reference:
    Nakatsukasa, Bai, Gygi, "Optimizing Halley's iteration for computing the matrix polar decomposition", 2010;
    Nakatsukasa,
    Higham, "Stable and efficient spectral divide and conquer algorithms", 2013.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from plugjax.extend.core import Array, ArrayLike, as_array, aval_of
from plugjax.extend.dtypes import INT32
from plugjax.lax.arithmetic import abs as abs_, add, mul, sub
from plugjax.lax.comparison import eq, gt, lt
from plugjax.lax.control_flow import while_loop
from plugjax.lax.exponential import sqrt
from plugjax.lax.families import convert, scalar
from plugjax.lax.joining import concatenate
from plugjax.lax.linalg.cholesky import cholesky_p
from plugjax.lax.linalg.matrices import (
    adjoint,
    identity,
    matmul,
    real_part,
    symmetrized,
)
from plugjax.lax.linalg.qr import qr
from plugjax.lax.linalg.triangular_solve import triangular_solve
from plugjax.lax.reduction import reduce_max, reduce_sum
from plugjax.lax.selection import select_n
from plugjax.lax.shape import broadcasted_iota, full_like
from plugjax.lax.slicing import slice_in_dim

_CHOLESKY_BELOW = 100.0


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Polar factors ``x = u h``, u with orthonormal columns, h Hermitian and positive semidefinite.

    Shapes:
        x: ``[m, n]`` with m >= n, of full rank.

    Args:
        x: the matrix.
        is_hermitian: accepted as in JAX; not used.
        max_iterations: limit of iterations; 10 by default.
        eps: precision as the spacing of numbers at 1; by default that of the dtype.
        dynamic_shape: the valid part of ``x``; the rest counts as zero.

    Returns:
        u ``[m, n]``, h ``[n, n]``, the number of iterations, and whether they converged.

    Raises:
        ValueError: m < n.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import qdwh
        >>> u, h, steps, converged = qdwh(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
        >>> jnp.round(u)
        Array([[ 0., -1.],
               [ 1.,  0.]], dtype=float32)
    """
    del is_hermitian
    x = as_array(x, "qdwh")
    rows, columns = aval_of(x).shape
    if rows < columns:
        raise ValueError(
            f"qdwh needs as many rows as columns or more, got shape ({rows}, {columns}). Pass the adjoint."
        )
    if dynamic_shape is not None:
        x = _only_part(x, dynamic_shape)
    dtype = aval_of(x).dtype
    limit = 10 if max_iterations is None else int(as_array(max_iterations, "qdwh"))
    precision = float(np.finfo(dtype).eps) if eps is None else float(as_array(eps, "qdwh"))
    enough = np.cbrt(5.0 * precision)
    u = mul(x, convert(_scale(x), dtype))
    converged: Any = np.bool_(False)
    weights = _weights(precision, limit)
    for a, b, c in weights:
        previous, u = u, _step(u, a, b, c)
        converged = _is_close(u, previous, enough)

    def goes_on(state: Any) -> Any:
        count, _, done = state
        return lt(count, np.int32(limit)) & ~done

    def halley(state: Any) -> Any:
        count, before, _ = state
        after = _step(before, 3.0, 1.0, 3.0)
        return add(count, np.int32(1)), after, _is_close(after, before, enough)

    count, u, converged = while_loop(goes_on, halley, (np.int32(len(weights)), u, converged))
    # One Newton-Schulz step.
    correction = matmul(u, matmul(adjoint(u), u))
    u = sub(mul(u, scalar(1.5, u)), mul(correction, scalar(0.5, u)))
    return u, symmetrized(matmul(adjoint(u), x)), convert(count, INT32, weak_type=True), converged


def _only_part(x: Any, sizes: tuple[Any, Any]) -> Any:
    inside = [
        lt(broadcasted_iota(np.int32, aval_of(x).shape, axis), convert(size, np.dtype(np.int32)))
        for axis, size in enumerate(sizes)
    ]
    return select_n(inside[0] & inside[1], full_like(x, 0), x)


def _scale(x: Any) -> Any:
    """One over a bound of the largest singular value."""
    size = abs_(x)
    bound = mul(reduce_max(reduce_sum(size, (0,)), (0,)), reduce_max(reduce_sum(size, (1,)), (0,)))
    one = scalar(1, bound)
    return one / sqrt(select_n(eq(bound, scalar(0, bound)), bound, one))


@lru_cache(maxsize=64)
def _weights(eps: float, limit: int) -> tuple[tuple[float, float, float], ...]:
    """The weights for singular values in [eps, 1]."""
    least = eps
    found: list[tuple[float, float, float]] = []
    while least + 5.0 * eps < 1 and len(found) < limit:
        square = least * least
        d = (4 * (1 / square - 1) / square) ** (1 / 3)
        root = (1 + d) ** 0.5
        a = root + (2 - d + 2 * (2 - square) / (square * root)) ** 0.5
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        least *= (a + b * square) / (1 + c * square)
        found.append((a, b, c))
    return tuple(found)


def _step(u: Any, a: float, b: float, c: float) -> Any:
    """``u (b/c) + (a - b/c) u (1 + c u^H u)^-1``."""
    dtype, size = aval_of(u).dtype, aval_of(u).shape[1]
    one = identity(dtype, size)
    if c > _CHOLESKY_BELOW:
        stacked = concatenate([mul(u, scalar(c**0.5, u)), one], 0)
        q = qr(stacked, full_matrices=False)[0]
        rows = aval_of(u).shape[0]
        top, bottom = (slice_in_dim(q, *ends) for ends in ((0, rows), (rows, rows + size)))
        inverse = mul(matmul(top, adjoint(bottom)), scalar(c**-0.5, u))
    else:
        gram = add(mul(matmul(adjoint(u), u), scalar(c, u)), one)
        factor = cholesky_p.bind(gram)
        inverse = triangular_solve(
            factor, u, left_side=False, lower=True, transpose_a=True, conjugate_a=True
        )
        inverse = triangular_solve(factor, inverse, left_side=False, lower=True)
    return add(mul(u, scalar(b / c, u)), mul(inverse, scalar(a - b / c, u)))


def _is_close(x: Any, y: Any, enough: float) -> Any:
    change = sub(x, y)
    square = real_part(mul(change, change.conj()))
    distance = sqrt(reduce_sum(square, (0, 1)))
    return ~gt(distance, scalar(enough, distance))
