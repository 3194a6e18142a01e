"""Eigenvalues and singular values by Jacobi rotations.

Columns are taken in pairs, and all pairs of a round are rotated at once. Between rounds the columns move as in a
round-robin tournament: in 2h - 1 rounds of h pairs every column is paired with every other once, and returns to its
position.

Reference:
    Brent, Luk, "The solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays", 1985.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import aval_of
from plugjax.lax.arithmetic import abs as abs_, max as max_
from plugjax.lax.control_flow import fori_loop, while_loop
from plugjax.lax.exponential import sqrt
from plugjax.lax.families import convert
from plugjax.lax.joining import concatenate, pad
from plugjax.lax.linalg.decompositions.batched import batched
from plugjax.lax.linalg.decompositions.reflections import qr
from plugjax.lax.linalg.decompositions.rows import one, stretched, where, zeros_like
from plugjax.lax.linalg.matrices import (
    adjoint,
    conjugate,
    diagonal,
    real_part,
    symmetrized,
    tril,
    triu,
)
from plugjax.lax.reduction import reduce_max, reduce_sum
from plugjax.lax.shape import full_like, reshape
from plugjax.lax.slicing import slice_in_dim
from plugjax.lax.sorting import sort

_SWEEPS = 24


def _halves(x: Any, axis: int) -> tuple[Any, Any]:
    size = aval_of(x).shape[axis]
    return slice_in_dim(x, 0, size // 2, axis=axis), slice_in_dim(x, size // 2, size, axis=axis)


def _moved(x: Any, axis: int) -> Any:
    """Positions for the next round: the first column stays, the others rotate."""
    size = aval_of(x).shape[axis]
    half = size // 2
    if half == 1:
        return x

    def part(start: int, stop: int) -> Any:
        return slice_in_dim(x, start, stop, axis=axis)

    ends = [part(0, 1), part(half, half + 1), part(1, half - 1)]
    return concatenate([*ends, part(half + 1, size), part(half - 1, half)], axis)


def _rotation(first: Any, second: Any, between: Any) -> tuple[Any, Any]:
    """c, real, and s: the rotation ``[[c, s], [-conj(s), c]]`` that makes ``[[first, between], [.., second]]`` diagonal."""
    size = abs_(between)
    apart = size > 0
    safe = where(apart, size, full_like(size, 1))
    ratio = (second - first) / (2 * safe)
    sign = where(ratio >= 0, full_like(ratio, 1), full_like(ratio, -1))
    t = sign / (abs_(ratio) + sqrt(1 + ratio * ratio))
    c = 1 / sqrt(1 + t * t)
    dtype = aval_of(between).dtype
    phase = between / convert(safe, dtype)
    s = convert(where(apart, t * c, zeros_like(t)), dtype) * phase
    return convert(where(apart, c, full_like(c, 1)), dtype), s


def _rotated(x: Any, c: Any, s: Any) -> Any:
    """``x J`` of columns in two halves: each pair becomes ``(c x - conj(s) y, s x + c y)``."""
    x, y = _halves(x, 1)
    c, s = (reshape(v, (1, aval_of(v).shape[0])) for v in (c, s))
    return concatenate([c * x - conjugate(s) * y, s * x + c * y], 1)


def _tolerance(x: Any) -> Any:
    return aval_of(x).dtype.type(np.finfo(aval_of(x).dtype).eps)


def _counted(count: Any, again: Any) -> Any:
    """The number of sweeps so far; the maximum if no more are needed.

    The condition of the loop reads this alone: IREE 3.13 refuses some programs with several loops that end by a float.
    """
    return where(again, count + np.int32(1), np.int32(_SWEEPS))


def _goes_on(state: tuple[Any, ...]) -> Any:
    return state[0] < _SWEEPS


def _eigh(
    x: Any,
    *,
    lower: bool,
    sort_eigenvalues: bool = True,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> list[Any]:
    """``A <- J^H A J`` until A is diagonal."""
    del sort_eigenvalues, subset_by_index, algorithm
    size = aval_of(x).shape[0]
    kept = tril(x) if lower else triu(x)
    other = tril(x, -1) if lower else triu(x, 1)
    x = kept + adjoint(other)
    x = symmetrized(x)
    if size < 2:
        return [one(x, size), diagonal(real_part(x))]
    half = (size + 1) // 2
    # An additional row and column of zeros makes an odd size even; they do not interact.
    more = [(0, 2 * half - size, 0)] * 2
    a = pad(x, aval_of(x).dtype.type(0), more)
    v = one(x, 2 * half)

    def turn(_: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        a, v = state
        first, second = _halves(diagonal(real_part(a)), 0)
        upper, _ = _halves(a, 0)
        c, s = _rotation(first, second, diagonal(_halves(upper, 1)[1]))
        a = adjoint(_rotated(adjoint(_rotated(a, c, s)), c, s))
        return _moved(_moved(a, 0), 1), _moved(_rotated(v, c, s), 1)

    def sweep(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        count, a, v = state
        a, v = fori_loop(0, 2 * half - 1, turn, (a, v))
        squares = real_part(a * conjugate(a))
        off = reduce_sum(tril(squares, -1), (0, 1))
        scale = reduce_sum(squares, (0, 1)) * _tolerance(squares) * _tolerance(squares)
        return _counted(count, off > scale), a, v

    _, a, v = while_loop(_goes_on, sweep, (np.int32(0), a, v))
    a, v = (slice_in_dim(y, 0, size, axis=1) for y in (a, v))
    values = slice_in_dim(diagonal(real_part(a)), 0, size)
    keys, vectors = _sorted(values, slice_in_dim(v, 0, size, axis=0))
    return [vectors, keys]


def _sorted(values: Any, vectors: Any) -> tuple[Any, Any]:
    """Ascending, columns with their values."""
    count = aval_of(values).shape[0]
    keys = stretched(reshape(values, (1, count)), aval_of(vectors).shape)
    parts = [vectors]
    if aval_of(vectors).dtype.kind == "c":
        parts = [vectors.real, vectors.imag]
    found = sort([keys, *parts], dimension=1, num_keys=1)
    parts = list(found[1:])
    whole = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    return sort(values), convert(whole, aval_of(vectors).dtype)


def _svd(
    x: Any,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> list[Any]:
    """Rotations make the columns of ``W = A V`` orthogonal; their lengths are the singular values."""
    rows, columns = aval_of(x).shape
    if rows < columns:
        found = _svd(adjoint(x), full_matrices=full_matrices, compute_uv=compute_uv)
        return [found[0], adjoint(found[2]), adjoint(found[1])] if compute_uv else found
    if not columns:
        values = diagonal(real_part(x))
        u = one(x, rows, rows if full_matrices else 0)
        return [values, u, one(x, 0)] if compute_uv else [values]
    w, v = _orthogonal_columns(x)
    squares = reduce_sum(real_part(w * conjugate(w)), (0,))
    lengths = sqrt(squares)
    # Descending, so that zeros come last.
    keys, both = _sorted(-lengths, concatenate([w, v], 0))
    values = -keys
    if not compute_uv:
        return [values]
    w, v = slice_in_dim(both, 0, rows, axis=0), slice_in_dim(both, rows, rows + columns, axis=0)
    # Orthogonal columns W = U diag(s): the QR factors are U and s up to phases, and complete U where s is zero.
    u, r = qr(w, pivoting=False, full_matrices=full_matrices)
    lead = diagonal(r)
    size = abs_(lead)
    nonzero = size > 0
    dtype = aval_of(x).dtype
    phases = lead / convert(where(nonzero, size, full_like(size, 1)), dtype)
    phases = where(nonzero, phases, full_like(phases, 1))
    more = aval_of(u).shape[1] - columns
    phases = pad(phases - 1, dtype.type(0), [(0, more, 0)]) + 1
    return [values, u * reshape(phases, (1, columns + more)), adjoint(v)]


def _orthogonal_columns(x: Any) -> tuple[Any, Any]:
    """W and V, with ``W = x V``, V unitary, the columns of W orthogonal."""
    columns = aval_of(x).shape[1]
    v = one(x, columns)
    if columns < 2:
        return x, v
    half = (columns + 1) // 2
    more = 2 * half - columns
    zero = aval_of(x).dtype.type(0)
    w = pad(x, zero, [(0, 0, 0), (0, more, 0)])
    v = pad(v, zero, [(0, 0, 0), (0, more, 0)])

    def inner(y: Any, z: Any) -> Any:
        return reduce_sum(conjugate(y) * z, (0,))

    def turn(_: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        w, v, worst = state
        y, z = _halves(w, 1)
        first, second, between = real_part(inner(y, y)), real_part(inner(z, z)), inner(y, z)
        scale = sqrt(first) * sqrt(second)
        cosine = where(scale > 0, abs_(between) / scale, zeros_like(scale))
        c, s = _rotation(first, second, between)
        worst = max_(worst, reduce_max(cosine, (0,)))
        return _moved(_rotated(w, c, s), 1), _moved(_rotated(v, c, s), 1), worst

    start = zeros_like(reduce_sum(real_part(w), (0, 1)))
    limit = np.sqrt(aval_of(x).shape[0])

    def sweep(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        count, w, v = state
        w, v, worst = fori_loop(0, 2 * half - 1, turn, (w, v, start))
        return _counted(count, worst > limit * _tolerance(worst)), w, v

    _, w, v = while_loop(_goes_on, sweep, (np.int32(0), w, v))
    return slice_in_dim(w, 0, columns, axis=1), slice_in_dim(v, 0, columns, axis=1)


eigh = batched(_eigh, 2)
svd = batched(_svd, 2)

__all__ = ["eigh", "svd"]
