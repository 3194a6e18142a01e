"""Cholesky and LU factors, and triangular and tridiagonal systems, by loops over rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import aval_of
from plugjax.lax.arithmetic import abs as abs_
from plugjax.lax.control_flow import fori_loop, scan
from plugjax.lax.exponential import sqrt
from plugjax.lax.families import convert
from plugjax.lax.linalg.decompositions.batched import batched
from plugjax.lax.linalg.decompositions.rows import (
    column,
    column_numbers,
    numbers,
    row,
    row_numbers,
    stretched,
    where,
    zeros_like,
)
from plugjax.lax.linalg.lu import lu_solve
from plugjax.lax.linalg.matrices import adjoint, conjugate, matmul, real_part, transposed
from plugjax.lax.reduction import argmax, reduce_max, reduce_sum
from plugjax.lax.shape import full_like, reshape
from plugjax.lax.slicing import dynamic_index_in_dim


def _cholesky(x: Any) -> Any:
    """Column by column: subtract the contribution of each column of L from the rest."""
    size = aval_of(x).shape[0]
    if not size:
        return x
    rows, columns = row_numbers(x), column_numbers(x)

    def step(k: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        rest, factor = state
        pivot = sqrt(real_part(row(column(rest, k), k)))
        line = column(rest, k) / convert(pivot, aval_of(x).dtype)
        line = where(rows >= k, line, zeros_like(line))
        return rest - line * adjoint(line), where(columns == k, line, factor)

    _, factor = fori_loop(0, size, step, (x, zeros_like(x)))
    good = reduce_max(convert(factor != factor, np.dtype(np.int32)), (0, 1)) == 0
    return where(good, factor, full_like(factor, np.nan))


def _triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    """Row by row: subtract each row of the solution from the rows that follow."""
    size = aval_of(a).shape[0]
    if not size or not aval_of(b).size:
        return b
    if conjugate_a:
        a = conjugate(a)
    # x op(a) = b is op(a)^T x^T = b^T.
    if transpose_a == left_side:
        a, lower = transposed(a), not lower
    x = b if left_side else transposed(b)
    rows = row_numbers(a)

    def step(i: Any, x: Any) -> Any:
        k = i if lower else size - 1 - i
        found = row(x, k)
        line = column(a, k)
        if not unit_diagonal:
            found = found / row(line, k)
        follows = rows > k if lower else rows < k
        # Not a product with zeros, which is nan where the solution is infinite.
        return where(rows == k, found, where(follows, x - line * found, x))

    x = fori_loop(0, size, step, x)
    return x if left_side else transposed(x)


def _lu(x: Any) -> list[Any]:
    """Column by column, with the largest element of the rest as pivot."""
    size, width = aval_of(x).shape
    rows, columns = row_numbers(x), column_numbers(x)
    order = numbers(size)
    least = min(size, width)
    pivots = numbers(least)
    if not least:
        return [x, pivots, order]

    def step(k: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        rest, pivots, order = state
        line = reshape(column(rest, k), (size,))
        if aval_of(line).dtype.kind == "c":
            magnitude = abs_(line.real) + abs_(line.imag)
        else:
            magnitude = abs_(line)
        magnitude = where(numbers(size) >= k, magnitude, full_like(magnitude, -1))
        place = argmax(magnitude, 0, np.int32)
        here, there = row(rest, k), row(rest, place)
        rest = where(rows == k, there, where(rows == place, here, rest))
        first = dynamic_index_in_dim(order, k, 0)
        second = dynamic_index_in_dim(order, place, 0)
        order = where(numbers(size) == k, second, where(numbers(size) == place, first, order))
        pivots = where(numbers(least) == k, stretched(place, (least,)), pivots)
        pivot = column(row(rest, k), k)
        line = column(rest, k)
        line = where((rows > k) & (pivot != 0), line / pivot, line)
        rest = where(columns == k, line, rest)
        return where((rows > k) & (columns > k), rest - line * row(rest, k), rest), pivots, order

    rest, pivots, order = fori_loop(0, least, step, (x, pivots, order))
    return [rest, pivots, order]


def _permutation(pivots: Any, *, permutation_size: int) -> Any:
    order = numbers(permutation_size)
    count = aval_of(pivots).shape[0]
    if not count or not permutation_size:
        return order
    every = numbers(permutation_size)

    def step(i: Any, order: Any) -> Any:
        place = dynamic_index_in_dim(pivots, i, 0)
        first = dynamic_index_in_dim(order, i, 0)
        second = dynamic_index_in_dim(order, reshape(place, ()), 0)
        return where(every == i, second, where(every == place, first, order))

    return fori_loop(0, count, step, order)


def _tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
    """Elimination without row exchanges, then substitution, as two scans (Thomas' algorithm)."""
    del perturb_singular

    def down(state: tuple[Any, Any], lines: tuple[Any, ...]) -> tuple[Any, Any]:
        ratio, before = state
        below, diagonal, above, right = lines
        pivot = diagonal - below * ratio
        after = above / pivot, (right - below * before) / pivot
        return after, after

    start = zeros_like(reduce_sum(d, (0,))), zeros_like(reduce_sum(b, (0,)))
    edge = where(numbers(aval_of(dl).shape[0]) == 0, zeros_like(dl), dl)
    _, (ratios, rights) = scan(down, start, (edge, d, du, b))

    def up(after: Any, lines: tuple[Any, Any]) -> tuple[Any, Any]:
        ratio, right = lines
        x = right - ratio * after
        return x, x

    last = numbers(aval_of(du).shape[0]) == aval_of(du).shape[0] - 1
    ratios = where(last, zeros_like(ratios), ratios)
    return scan(up, start[1], (ratios, rights), reverse=True)[1]


def _cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """Row by row: rotate the row of R and the rest of w."""
    size = aval_of(w_vector).shape[0]
    if not size:
        return r_matrix
    rows = row_numbers(r_matrix)

    def step(k: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        factor, w = state
        line = row(factor, k)
        x, y = column(line, k), column(w, k)
        scale = where(abs_(x) > abs_(y), abs_(x), abs_(y))
        scale = where(scale == 0, full_like(scale, 1), scale)
        length = scale * sqrt((x / scale) * (x / scale) + (y / scale) * (y / scale))
        turns = y != 0
        c = where(turns, x / length, full_like(x, 1))
        s = where(turns, y / length, zeros_like(x))
        return where(rows == k, c * line + s * w, factor), c * w - s * line

    start = r_matrix, reshape(w_vector, (1, size))
    return fori_loop(0, size, step, start)[0]


def symmetric_product(a: Any, c: Any, *, alpha: float, beta: float) -> Any:
    """See :func:`plugjax.lax.linalg.symmetric_product`."""
    return alpha * matmul(a, transposed(a)) + beta * c


def solve(a: Any, b: Any, factors: Any, permutation: Any, *, transposed: bool) -> Any:
    """See :mod:`plugjax.lax.linalg.solve`."""
    return lu_solve(factors, permutation, b, trans=1 if transposed else 0)


cholesky = batched(_cholesky, 2)
triangular_solve = batched(_triangular_solve, 2)
lu = batched(_lu, 2)
lu_pivots_to_permutation = batched(_permutation, 1)
tridiagonal_solve = batched(_tridiagonal_solve, 1)
cholesky_update = _cholesky_update

__all__ = [
    "cholesky",
    "cholesky_update",
    "lu",
    "lu_pivots_to_permutation",
    "solve",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal_solve",
]
