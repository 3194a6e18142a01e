"""QR factors by Householder reflections, with the signs and the storage of LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import aval_of
from plugjax.lax.arithmetic import abs as abs_
from plugjax.lax.complex import complex as complex_, imag
from plugjax.lax.control_flow import fori_loop
from plugjax.lax.exponential import sqrt
from plugjax.lax.families import convert
from plugjax.lax.joining import pad
from plugjax.lax.linalg.decompositions.batched import batched
from plugjax.lax.linalg.decompositions.rows import (
    column,
    column_numbers,
    numbers,
    one,
    row,
    row_numbers,
    where,
    zeros_like,
)
from plugjax.lax.linalg.matrices import adjoint, conjugate, matmul, real_part, triu
from plugjax.lax.reduction import argmax, reduce_max, reduce_sum
from plugjax.lax.shape import full_like, reshape
from plugjax.lax.slicing import slice_in_dim


def _squares(x: Any) -> Any:
    return real_part(x * conjugate(x))


def reflection(line: Any, k: Any) -> tuple[Any, Any, Any]:
    """The reflection of a column ``[m, 1]`` that annihilates the rows below k: v, tau and the new element k."""
    rows = row_numbers(line)
    # In units of the largest element, so that no square overflows or underflows.
    sizes = where(rows >= k, abs_(line), zeros_like(abs_(line)))
    unit = reduce_max(sizes, (0, 1))
    unit = convert(where(unit > 0, unit, full_like(unit, 1)), aval_of(line).dtype)
    line = line / unit
    below = where(rows > k, line, zeros_like(line))
    first = row(line, k)
    rest = reduce_sum(_squares(below), (0, 1))
    length = sqrt(_squares(first) + rest)
    head = real_part(first)
    turned = where(head > 0, -length, length)
    is_zero = rest == 0
    if aval_of(line).dtype.kind == "c":
        is_zero = is_zero & (imag(first) == 0)
        tau = complex_((turned - head) / turned, -imag(first) / turned)
    else:
        tau = (turned - head) / turned
    after = where(is_zero, first, convert(turned, aval_of(line).dtype))
    tau = where(is_zero, zeros_like(tau), tau)
    gap = where(is_zero, full_like(first, 1), first - after)
    vector = where(rows == k, full_like(line, 1), below / gap)
    return vector, tau, after * unit


def _factor(x: Any, pivoting: bool, order: Any = None, fixed: Any = 0) -> tuple[Any, Any, Any]:
    """Packed factors, the factors tau ``[1, k]`` and the order of the columns ``[1, n]``; ``fixed`` columns stay."""
    size, width = aval_of(x).shape
    count = min(size, width)
    rows, columns = row_numbers(x), column_numbers(x)
    taus = zeros_like(slice_in_dim(reshape(x, (1, size * width)), 0, count, axis=1))
    if order is None:
        order = reshape(numbers(width), (1, width))

    def step(k: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        packed, taus, order = state
        if pivoting:
            packed, order = _largest_first(packed, order, k, fixed)
        line = column(packed, k)
        vector, tau, after = reflection(line, k)
        product = matmul(adjoint(vector), packed)
        turned = packed - conjugate(tau) * vector * product
        packed = where(columns > k, turned, packed)
        done = where(rows == k, after, where(rows > k, vector, line))
        packed = where(columns == k, done, packed)
        return packed, where(column_numbers(taus) == k, tau, taus), order

    result: tuple[Any, Any, Any] = fori_loop(0, count, step, (x, taus, order))
    return result


def _largest_first(packed: Any, order: Any, k: Any, fixed: Any) -> tuple[Any, Any]:
    """Exchange column k, if it is not fixed, with the column of the largest norm below row k."""
    rows = row_numbers(packed)
    norms = reduce_sum(where(rows >= k, _squares(packed), zeros_like(_squares(packed))), (0,))
    norms = where(numbers(aval_of(packed).shape[1]) >= k, norms, full_like(norms, -1))
    place = argmax(norms, 0, np.int32)
    place = reshape(where(fixed > k, zeros_like(place) + k, place), (1, 1))
    return _exchanged(packed, order, k, place)


def _exchanged(packed: Any, order: Any, k: Any, place: Any) -> tuple[Any, Any]:
    """Exchange columns k and ``place``, which is ``[1, 1]``."""
    columns = column_numbers(packed)
    first, second = column(order, k), column(order, reshape(place, ()))
    here, there = column(packed, k), column(packed, reshape(place, ()))
    packed = where(columns == k, there, where(columns == place, here, packed))
    return packed, where(columns == k, second, where(columns == place, first, order))


def _geqp3(x: Any, first: Any) -> list[Any]:
    """Columns marked by ``first`` come first, the others follow by their norms."""
    rows, columns = aval_of(x).shape
    order = reshape(numbers(columns), (1, columns))
    if not aval_of(x).size:
        return [x, numbers(columns) + 1, zeros_like(slice_in_dim(reshape(x, (0,)), 0, 0))]
    marked = reshape(first, (1, columns)) != 0

    def swap(j: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        packed, order, count = state
        wanted = column(marked, j)
        place = where(wanted, reshape(count, (1, 1)), full_like(count, 0, shape=(1, 1)) + j)
        packed, order = _exchanged(packed, order, j, place)
        return packed, order, count + convert(reshape(wanted, ()), np.dtype(np.int32))

    count = reduce_sum(zeros_like(order), (0, 1))
    packed, order, count = fori_loop(0, columns, swap, (x, order, count))
    packed, taus, order = _factor(packed, True, order, count)
    return [packed, reshape(order, (columns,)) + 1, reshape(taus, (min(rows, columns),))]


def _geqrf(x: Any) -> list[Any]:
    if not aval_of(x).size:
        return [x, slice_in_dim(reshape(x, (0,)), 0, 0)]
    packed, taus, _ = _factor(x, False)
    return [packed, reshape(taus, (aval_of(taus).shape[1],))]


def _ormqr(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    """One reflection after the other; ``c Q`` is the adjoint of ``Q^H c^H``."""
    if not left:
        return adjoint(_ormqr(a, taus, adjoint(c), left=True, transpose=not transpose))
    count = aval_of(taus).shape[0]
    if not count:
        return c
    rows = row_numbers(a)
    factors = reshape(conjugate(taus) if transpose else taus, (1, count))

    def step(i: Any, c: Any) -> Any:
        k = i if transpose else count - 1 - i
        line = column(a, k)
        vector = where(rows == k, full_like(line, 1), where(rows > k, line, zeros_like(line)))
        return c - column(factors, k) * vector * matmul(adjoint(vector), c)

    return fori_loop(0, count, step, c)


def _householder_product(a: Any, taus: Any) -> Any:
    rows, columns = aval_of(a).shape
    return _ormqr(a, taus, one(a, rows, columns), left=True, transpose=False)


def _qr(x: Any, *, pivoting: bool, full_matrices: bool, use_magma: Any = None) -> list[Any]:
    del use_magma
    rows, columns = aval_of(x).shape
    inner = rows if full_matrices else min(rows, columns)
    if not aval_of(x).size:
        order = [zeros_like(numbers(columns))] if pivoting else []
        r = pad(x, aval_of(x).dtype.type(0), [(0, inner - rows, 0), (0, 0, 0)])
        return [one(x, rows, inner), r, *order]
    packed, taus, order = _factor(x, pivoting)
    taus = reshape(taus, (aval_of(taus).shape[1],))
    q = _ormqr(packed, taus, one(x, rows, inner), left=True, transpose=False)
    r = triu(slice_in_dim(packed, 0, inner, axis=0))
    return [q, r, reshape(order, (columns,))] if pivoting else [q, r]


geqp3 = batched(_geqp3, 2)
geqrf = batched(_geqrf, 2)
ormqr = batched(_ormqr, 2)
householder_product = batched(_householder_product, 2)
qr = batched(_qr, 2)

__all__ = ["geqp3", "geqrf", "householder_product", "ormqr", "qr", "reflection"]
