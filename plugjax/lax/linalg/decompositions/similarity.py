"""Hessenberg and tridiagonal forms by Householder reflections from both sides, with the signs and the storage of LAPACK."""

from __future__ import annotations

from typing import Any

from plugjax.extend.core import aval_of
from plugjax.lax.control_flow import fori_loop
from plugjax.lax.families import convert
from plugjax.lax.linalg.decompositions.batched import batched
from plugjax.lax.linalg.decompositions.reflections import reflection
from plugjax.lax.linalg.decompositions.rows import (
    column,
    column_numbers,
    row_numbers,
    where,
    zeros_like,
)
from plugjax.lax.linalg.matrices import adjoint, conjugate, diagonal, matmul, real_part, tril
from plugjax.lax.shape import reshape, rev
from plugjax.lax.slicing import slice_in_dim


def hessenberg_form(x: Any, q: Any | None = None) -> tuple[Any, Any, Any]:
    """Hessenberg form of one matrix, as LAPACK packs it, with the factors tau ``[1, n - 1]``; and ``q Q``, if there is a q."""
    size = aval_of(x).shape[0]
    rows, columns = row_numbers(x), column_numbers(x)
    taus = zeros_like(slice_in_dim(x, 0, 1, axis=0))
    taus = slice_in_dim(taus, 0, size - 1, axis=1)
    has_vectors = q is not None

    def step(k: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        packed, taus, *rest = state
        line = column(packed, k)
        vector, tau, after = reflection(line, k + 1)
        vector = where(rows > k, vector, zeros_like(vector))
        left = packed - conjugate(tau) * vector * matmul(adjoint(vector), packed)
        turned = where(columns > k, left, packed)
        turned = turned - tau * matmul(turned, vector) * adjoint(vector)
        done = where(rows == k + 1, after, where(rows > k, vector, line))
        packed = where(columns == k, done, turned)
        if rest:
            rest = [rest[0] - tau * matmul(rest[0], vector) * adjoint(vector)]
        return packed, where(column_numbers(taus) == k, tau, taus), *rest

    state = (x, taus, q) if has_vectors else (x, taus)
    packed, taus, *rest = fori_loop(0, size - 1, step, state)
    return packed, taus, rest[0] if has_vectors else None


def _hessenberg(x: Any) -> list[Any]:
    size = aval_of(x).shape[0]
    if size < 2:
        return [x, zeros_like(slice_in_dim(reshape(x, (size * size,)), 0, 0))]
    packed, taus, _ = hessenberg_form(x)
    return [packed, reshape(taus, (size - 1,))]


def _tridiagonal(x: Any, *, lower: bool) -> list[Any]:
    """Reduction from the lower triangle; reversing rows and columns makes the upper one lower."""
    if not lower:
        packed, d, e, taus = _tridiagonal(rev(x, (0, 1)), lower=True)
        return [rev(packed, (0, 1)), rev(d, (0,)), rev(e, (0,)), rev(taus, (0,))]
    size = aval_of(x).shape[0]
    kept = tril(x)
    full = kept + adjoint(tril(x, -1))
    if aval_of(x).dtype.kind == "c":
        # The imaginary parts of the diagonal are ignored.
        on = row_numbers(x) == column_numbers(x)
        full = where(on, convert(real_part(full), aval_of(x).dtype), full)
    if size == 1:
        none = slice_in_dim(diagonal(full), 0, 0)
        return [x, real_part(diagonal(full)), real_part(none), none]
    packed, taus, _ = hessenberg_form(full)
    below = diagonal(slice_in_dim(packed, 1, size, axis=0))
    above = row_numbers(x) < column_numbers(x)
    packed = where(above, x, packed)
    return [
        packed,
        real_part(diagonal(packed)),
        real_part(slice_in_dim(below, 0, size - 1)),
        reshape(taus, (size - 1,)),
    ]


hessenberg = batched(_hessenberg, 2)
tridiagonal = batched(_tridiagonal, 2)

__all__ = ["hessenberg", "hessenberg_form", "tridiagonal"]
