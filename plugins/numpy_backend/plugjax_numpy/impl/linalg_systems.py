"""Kernels of Cholesky and LU factors, and of triangular and tridiagonal systems."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.linalg.cholesky import cholesky_p, cholesky_update_p
from plugjax.lax.linalg.lu import lu_p, lu_pivots_to_permutation_p
from plugjax.lax.linalg.solve import solve_p
from plugjax.lax.linalg.symmetric_product import symmetric_product_p
from plugjax.lax.linalg.triangular_solve import triangular_solve_p
from plugjax.lax.linalg.tridiagonal import tridiagonal_solve_p
from plugjax_numpy.kernels import Value
from plugjax_numpy.lapack import each, routine, wide

rules = RuleSet(__name__)


@rules.define(impl, cholesky_p)
def _cholesky(x: Value) -> Value:
    a = wide(x)
    potrf = routine("potrf", a.dtype)

    def factor(matrix: Value) -> tuple[Value]:
        # Of the transpose, in Fortran order: its upper factor is the transpose of the lower one.
        found, info = potrf(matrix.T, lower=0, clean=1)
        return (np.nan if info else found.T,)

    if not a.size:
        return np.array(x)
    return each(factor, a.shape[:-2], [np.empty_like(a)], a)[0].astype(x.dtype, copy=False)


@rules.define(impl, cholesky_update_p)
def _cholesky_update(r_matrix: Value, w_vector: Value) -> Value:
    factor, w = np.array(r_matrix), np.array(w_vector)
    for k in range(len(w)):
        length = np.hypot(factor[k, k], w[k])
        if w[k] == 0:
            continue
        c, s = factor[k, k] / length, -w[k] / length
        row = factor[k].copy()
        factor[k] = c * row - s * w
        w = c * w + s * row
    return factor


@rules.define(impl, lu_p)
def _lu(x: Value) -> list[Value]:
    a = wide(x)
    *batch, rows, columns = a.shape
    getrf = routine("getrf", a.dtype)

    def factor(matrix: Value) -> tuple[Value, Value]:
        found, pivots, _ = getrf(matrix)
        return found, pivots

    outs = [np.empty_like(a), np.empty((*batch, min(rows, columns)), np.int32)]
    if a.size:
        each(factor, tuple(batch), outs, a)
    factors, pivots = outs
    return [factors.astype(x.dtype, copy=False), pivots, _permutation(pivots, rows)]


@rules.define(impl, lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(pivots: Value, *, permutation_size: int) -> Value:
    return _permutation(pivots, permutation_size)


# Up to so many permutations are faster one after the other in Python than all at once in arrays.
_FEW = 16


def _permutation(pivots: Value, size: int) -> Value:
    *batch, count = pivots.shape
    exchanges = pivots.reshape(math.prod(batch), count)
    order = np.empty((len(exchanges), size), np.int32)
    if len(exchanges) <= _FEW:
        for line, exchanged in zip(order, exchanges.tolist(), strict=True):
            line[:] = _exchange(list(range(size)), exchanged)
    else:
        _exchange_columns(order, exchanges)
    return order.reshape(*batch, size)


def _exchange(order: list[int], places: list[int]) -> list[int]:
    for i, j in enumerate(places):
        if i != j:
            order[i], order[j] = order[j], order[i]
    return order


def _exchange_columns(lines: Value, exchanges: Value) -> None:
    """Write the permutation of each line's exchanges."""
    lines[:] = np.arange(lines.shape[1], dtype=np.int32)
    every = np.arange(len(lines))
    for i in range(exchanges.shape[1]):
        j = exchanges[:, i]
        there = lines[every, j].copy()
        lines[every, j] = lines[:, i]
        lines[:, i] = there


def _substituted(
    trsm: Callable[..., Value],
    matrix: Value,
    rhs: Value,
    *,
    lower: bool,
    transposed: bool = False,
    **how: int,
) -> Value:
    """The solution of a triangular system; the routine gets the transpose of the matrix, which is in Fortran order."""
    return trsm(1.0, matrix.T, rhs, lower=not lower, trans_a=not transposed, **how)


@rules.define(impl, triangular_solve_p)
def _triangular_solve(
    a: Value,
    b: Value,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Value:
    matrices, right = wide(a), wide(b)
    if not right.size:
        return np.array(b)
    if conjugate_a:
        matrices = matrices.conj()
    trsm = routine("trsm", right.dtype)
    how = {"side": 0 if left_side else 1, "diag": unit_diagonal}

    def solve(matrix: Value, rhs: Value) -> tuple[Value]:
        return (_substituted(trsm, matrix, rhs, lower=lower, transposed=transpose_a, **how),)

    (x,) = each(solve, right.shape[:-2], [np.empty_like(right)], matrices, right)
    return x.astype(b.dtype, copy=False)


@rules.define(impl, solve_p)
def _solve(a: Value, b: Value, factors: Value, permutation: Value, *, transposed: bool) -> Value:
    matrices, right = wide(factors), wide(b)
    if not right.size:
        return np.array(b)
    trsm = routine("trsm", right.dtype)

    def solve(matrix: Value, order: Value, rhs: Value) -> tuple[Value]:
        if not transposed:
            x = _substituted(trsm, matrix, rhs[order], lower=True, diag=1)
            return (_substituted(trsm, matrix, x, lower=False),)
        x = _substituted(trsm, matrix, rhs, lower=False, transposed=True)
        found = np.empty_like(rhs)
        found[order] = _substituted(trsm, matrix, x, lower=True, transposed=True, diag=1)
        return (found,)

    outs = [np.empty_like(right)]
    each(solve, right.shape[:-2], outs, matrices, permutation, right)
    return outs[0].astype(b.dtype, copy=False)


@rules.define(impl, tridiagonal_solve_p)
def _tridiagonal_solve(
    dl: Value, d: Value, du: Value, b: Value, *, perturb_singular: bool
) -> Value:
    below, middle, above, right = (wide(x) for x in (dl, d, du, b))
    if not right.size:
        return np.array(b)
    if perturb_singular:
        x = _perturbed(below, middle, above, right)
        return x.astype(b.dtype, copy=False)
    gtsv = routine("gtsv", right.dtype)

    def solve(lower: Value, diagonal: Value, upper: Value, rhs: Value) -> tuple[Any]:
        *_, found, info = gtsv(lower[1:], diagonal, upper[:-1], rhs)
        return (np.nan if info else found,)

    operands = (below, middle, above, right)
    if middle.shape[-1] == 1:
        return np.asarray(right / middle[..., None], b.dtype)
    (x,) = each(solve, right.shape[:-2], [np.empty_like(right)], *operands)
    return x.astype(b.dtype, copy=False)


def _perturbed(dl: Value, d: Value, du: Value, b: Value) -> Value:
    """Elimination with row exchanges for all instances at once; pivots near zero are perturbed.

    Row i of the upper factor has elements on the diagonal, beside it and one further.
    """
    size = d.shape[-1]
    eps = np.finfo(d.dtype).eps
    x = np.array(b)
    main, next_, far = np.array(d), np.array(du), np.zeros_like(d)
    next_[..., -1] = 0
    scale = np.maximum(abs(d), np.maximum(abs(dl), abs(du))).max(-1)
    least = np.where(scale > 0, scale * eps, np.finfo(d.dtype).tiny)

    def away_from_zero(pivot: Value) -> Value:
        size_ = abs(pivot)
        phase = np.where(size_ > 0, pivot / np.where(size_ > 0, size_, 1), 1)
        return np.where(size_ < least, least * phase, pivot)

    for i in range(size - 1):
        lower = dl[..., i + 1]
        swap = abs(lower) > abs(main[..., i])
        here = main[..., i].copy(), next_[..., i].copy(), x[..., i, :].copy()
        there = lower, main[..., i + 1].copy(), next_[..., i + 1].copy(), x[..., i + 1, :].copy()
        main[..., i] = away_from_zero(np.where(swap, there[0], here[0]))
        next_[..., i] = np.where(swap, there[1], here[1])
        far[..., i] = np.where(swap, there[2], 0)
        x[..., i, :] = np.where(swap[..., None], there[3], here[2])
        factor = np.where(swap, here[0], there[0]) / main[..., i]
        main[..., i + 1] = np.where(swap, here[1], there[1]) - factor * next_[..., i]
        next_[..., i + 1] = np.where(swap, 0, there[2]) - factor * far[..., i]
        x[..., i + 1, :] = (
            np.where(swap[..., None], here[2], there[3]) - factor[..., None] * x[..., i, :]
        )
    main[..., -1] = away_from_zero(main[..., -1])
    for i in reversed(range(size)):
        if i + 1 < size:
            x[..., i, :] -= next_[..., i, None] * x[..., i + 1, :]
        if i + 2 < size:
            x[..., i, :] -= far[..., i, None] * x[..., i + 2, :]
        x[..., i, :] /= main[..., i, None]
    return x


@rules.define(impl, symmetric_product_p)
def _symmetric_product(a: Value, c: Value, *, alpha: float, beta: float) -> Value:
    product = wide(a) @ np.swapaxes(wide(a), -1, -2)
    return np.asarray(alpha * product + beta * wide(c), a.dtype)
