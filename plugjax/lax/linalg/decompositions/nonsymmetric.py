"""Schur form, eigenvalues and eigenvectors of general matrices, by the QR algorithm with shifts.

A Hessenberg matrix is multiplied by reflections of neighbouring rows and columns that chase a bulge down its
subdiagonal; the bulge starts as the first column of a polynomial of the matrix, whose roots are the shifts. For a
complex matrix the polynomial has one root and reflections have two rows. For a real matrix it has two roots, which may
be conjugate, and reflections have three rows, so that everything stays real. Elements of the subdiagonal become zero,
from the bottom upwards; in a real matrix blocks of two remain for pairs of complex eigenvalues.

All matrices of a batch go through the same loops, with masks for the steps that one of them does not need.

Reference:
    Golub, Van Loan, "Matrix Computations", sections 7.5 and 7.6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.core import aval_of
from plugjax.extend.dtypes import DType
from plugjax.lax.arithmetic import abs as abs_, max as max_
from plugjax.lax.barrier import optimization_barrier
from plugjax.lax.complex import complex as complex_, imag
from plugjax.lax.control_flow import fori_loop, while_loop
from plugjax.lax.exponential import sqrt
from plugjax.lax.families import convert
from plugjax.lax.joining import concatenate, pad
from plugjax.lax.linalg.decompositions.batched import batched
from plugjax.lax.linalg.decompositions.reflections import reflection
from plugjax.lax.linalg.decompositions.rows import (
    column_numbers,
    numbers,
    one,
    row,
    row_numbers,
    where,
    zeros_like,
)
from plugjax.lax.linalg.decompositions.similarity import hessenberg_form
from plugjax.lax.linalg.matrices import (
    adjoint,
    complex_dtype,
    conjugate,
    diagonal,
    matmul,
    real_part,
    triu,
)
from plugjax.lax.reduction import reduce_max, reduce_min, reduce_sum
from plugjax.lax.shape import full_like, reshape, rev
from plugjax.lax.slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim, slice_in_dim

_SWEEPS_PER_ROW = 30
# Sweeps without a new zero after which exceptional shifts are used once.
_PATIENCE = 10


def _size(x: Any) -> Any:
    """A cheap absolute value: the sum of the absolute values of the parts."""
    return abs_(x) if aval_of(x).dtype.kind == "f" else abs_(real_part(x)) + abs_(imag(x))


def _below(t: Any) -> Any:
    """The subdiagonal, ``[n - 1]``."""
    size = aval_of(t).shape[0]
    shifted = slice_in_dim(slice_in_dim(t, 1, size, axis=0), 0, size - 1, axis=1)
    return diagonal(shifted)


def _on_diagonal(t: Any) -> Any:
    return reduce_sum(where(row_numbers(t) == column_numbers(t), t, zeros_like(t)), (0,))


def _shift(x: Any, by: int, fill: bool = False) -> Any:
    """``x[i - by]`` at place i."""
    return pad(x, np.bool_(fill), [(by, -by, 0)])


def _element(t: Any, i: Any, j: Any) -> Any:
    """``t[i, j]`` as ``[1, 1]``, zero outside."""
    which = (row_numbers(t) == i) & (column_numbers(t) == j)
    total = reduce_sum(where(which, t, zeros_like(t)), (0, 1))
    return reshape(total, (1, 1))


def _on_both_sides(t: Any, q: Any, k: Any, vector: Any, tau: Any) -> tuple[Any, Any]:
    """``H^H t H`` and ``q H`` for the reflection H of the rows from k on."""
    count = aval_of(vector).shape[0]
    rows = dynamic_slice_in_dim(t, k, count, axis=0)
    rows = rows - conjugate(tau) * vector * matmul(adjoint(vector), rows)
    t = dynamic_update_slice_in_dim(t, rows, k, axis=0)
    return tuple(_from_the_right(x, k, vector, tau) for x in (t, q))


def _from_the_right(x: Any, k: Any, vector: Any, tau: Any) -> Any:
    columns = dynamic_slice_in_dim(x, k, aval_of(vector).shape[0], axis=1)
    columns = columns - tau * matmul(columns, vector) * adjoint(vector)
    return dynamic_update_slice_in_dim(x, columns, k, axis=1)


def _turned(t: Any, q: Any, k: Any, u: Any) -> tuple[Any, Any]:
    """``U^H t U`` and ``q U`` for a unitary U of rows k and k + 1."""
    rows = matmul(adjoint(u), dynamic_slice_in_dim(t, k, 2, axis=0))
    t = dynamic_update_slice_in_dim(t, rows, k, axis=0)
    t, q = (
        dynamic_update_slice_in_dim(x, matmul(dynamic_slice_in_dim(x, k, 2, axis=1), u), k, axis=1)
        for x in (t, q)
    )
    return t, q


def _bulge(t: Any, low: Any, high: Any, stuck: Any) -> Any:
    """The first column of the polynomial of the shifts, for the block of rows ``low`` to ``high``: ``[2 or 3, 1]``."""
    is_complex = aval_of(t).dtype.kind == "c"
    places = [(low, low), (low + 1, low), (low, low + 1), (low + 1, low + 1), (low + 2, low + 1)]
    places += [(high - 1, high - 1), (high - 1, high), (high, high - 1), (high, high)]
    elements = concatenate([_element(t, *at) for at in [*places, (high - 1, high - 2)]], 0)
    # The polynomial is homogeneous: in units of the largest element no product overflows or
    # underflows.
    unit = reduce_max(_size(elements), (0, 1))
    elements = elements / convert(where(unit > 0, unit, full_like(unit, 1)), aval_of(t).dtype)
    first, next_, across, second, third, a, b, c, d, above = (
        slice_in_dim(elements, i, i + 1, axis=0) for i in range(10)
    )
    away = _size(c) + _size(above)
    if is_complex:
        # The eigenvalue of the last block that is nearer to its last element.
        half = (a - d) / 2
        root = sqrt(half * half + b * c)
        far = where(
            real_part(half) * real_part(root) + imag(half) * imag(root) < 0,
            half - root,
            half + root,
        )
        product = b * c
        shift = where(far == 0, d, d - product / where(far == 0, full_like(far, 1), far))
        shift = where(stuck, d + convert(away, aval_of(t).dtype), shift)
        return concatenate([first - shift, next_], 0)
    total, product = a + d, a * d - b * c
    total = where(stuck, 1.5 * away + 2 * d, total)
    product = where(stuck, d * d + 1.5 * away * d + away * away, product)
    head = (first * first - total * first + product) + across * next_
    middle = next_ * (first + second - total)
    return concatenate([head, middle, next_ * third], 0)


def _sweep(t: Any, q: Any, low: Any, high: Any, stuck: Any) -> tuple[Any, Any]:
    """Chase a bulge from row ``low`` to row ``high``."""
    size = aval_of(t).shape[0]
    start = _bulge(t, low, high, stuck)
    count = aval_of(start).shape[0]
    # Rows of zeros at the end, for reflections that reach beyond it.
    t = pad(t, aval_of(t).dtype.type(0), [(0, count - 1, 0)] * 2)
    q = pad(q, aval_of(q).dtype.type(0), [(0, 0, 0), (0, count - 1, 0)])

    def step(k: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        t, q = state
        places = k + row_numbers(start)
        left = dynamic_slice_in_dim(dynamic_slice_in_dim(t, max_(k - 1, 0), 1, axis=1), k, count)
        line = where(low == k, start, left)
        line = where(places <= high, line, zeros_like(line))
        vector, tau, _ = reflection(line, 0)
        tau = where((k >= low) & (k < high), tau, zeros_like(tau))
        return _on_both_sides(t, q, k, vector, tau)

    t, q = fori_loop(0, size - 1, step, (t, q))
    t = slice_in_dim(slice_in_dim(t, 0, size, axis=0), 0, size, axis=1)
    # The elements that the reflections annihilate.
    return triu(t, -1), slice_in_dim(q, 0, size, axis=1)


def _iterated(t: Any, q: Any) -> tuple[Any, Any, Any]:
    """Sweeps until all blocks are small; T, Q, and whether that was reached."""
    size = aval_of(t).shape[0]
    limit = _SWEEPS_PER_ROW * max(size, 10)
    is_complex = aval_of(t).dtype.kind == "c"
    eps = aval_of(real_part(t)).dtype.type(np.finfo(aval_of(t).dtype).eps)
    places = numbers(size - 1)

    def cleared(t: Any) -> tuple[Any, Any, Any]:
        """T without negligible subdiagonal elements, and the first and last row of the lowest unfinished block."""
        below, sizes = _below(t), _size(diagonal(t))
        beside = slice_in_dim(sizes, 0, size - 1) + slice_in_dim(sizes, 1, size)
        whole = reduce_max(_size(t), (0, 1))
        beside = where(beside == 0, whole, beside)
        joined = _size(below) > eps * beside
        gap = (row_numbers(t) == column_numbers(t) + 1) & ~concatenate(
            [reshape(joined, (1, size - 1)), np.zeros((1, 1), bool)], 1
        )
        t = where(gap, zeros_like(t), t)
        open_ = joined if is_complex else joined & (_shift(joined, 1) | _shift(joined, -1))
        high = reduce_max(where(open_, places + 1, zeros_like(places)), (0,))
        # The block begins after the last gap above it.
        apart = where(~joined & (places < high), places + 1, zeros_like(places))
        return t, reduce_max(apart, (0,)), high

    def goes_on(state: tuple[Any, ...]) -> Any:
        return (state[1] > 0) & (state[0] < limit)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        count, high, low, since, t, q = state
        stuck = since % _PATIENCE == _PATIENCE - 1
        t, q = _sweep(t, q, low, high, stuck)
        t, low, now = cleared(t)
        return count + 1, now, low, where(now == high, since + 1, zeros_like(since)), t, q

    t, low, high = cleared(t)
    zero = np.int32(0)
    _, high, _, _, t, q = while_loop(goes_on, step, (zero, high, low, zeros_like(high), t, q))
    return t, q, high == 0


def _standard(t: Any, q: Any) -> tuple[Any, Any]:
    """Make the blocks of two of a real T triangular, or their diagonal constant if their eigenvalues are complex.

    With p half the difference of the diagonal elements, the eigenvalues are real where ``p^2 + bc`` is not negative.
    """
    size = aval_of(t).shape[0]

    def step(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        t, q = state
        a, b = _element(t, i, i), _element(t, i, i + 1)
        c, d = _element(t, i + 1, i), _element(t, i + 1, i + 1)
        whole = max_(max_(abs_(a - d), abs_(b)), abs_(c))
        scale = where(whole > 0, whole, full_like(whole, 1))
        p, b, c = (a - d) / (2 * scale), b / scale, c / scale
        inside = p * p + b * c
        is_real = inside >= 0
        # Real: an eigenvector of the block becomes the first column.
        root = sqrt(where(is_real, inside, zeros_like(inside)))
        z = p + where(p < 0, -root, root)
        # Complex: the rotation that makes the diagonal elements equal.
        total = b + c
        double = sqrt(total * total + 4 * p * p)
        flat = double == 0
        ratio = abs_(total) / where(flat, full_like(double, 1), double)
        cosine = sqrt((1 + ratio) / 2)
        sine = -p / where(flat, full_like(double, 1), double * cosine)
        sine = where(total < 0, -sine, sine)
        cosine, sine = where(flat, full_like(cosine, 1), cosine), where(flat, sine * 0, sine)
        length = sqrt(z * z + c * c)
        safe = where(length > 0, length, full_like(length, 1))
        x = where(is_real, z / safe, cosine)
        y = where(is_real, c / safe, sine)
        needed = c != 0
        x, y = where(needed, x, full_like(x, 1)), where(needed, y, zeros_like(y))
        u = concatenate([concatenate([x, -y], 1), concatenate([y, x], 1)], 0)
        t, q = _turned(t, q, i, u)
        mean = (_element(t, i, i) + _element(t, i + 1, i + 1)) / 2
        rows, columns = row_numbers(t), column_numbers(t)
        on = (rows == columns) & ((rows == i) | (rows == i + 1))
        t = where(on & needed & ~is_real, mean, t)
        gone = (rows == i + 1) & (columns == i) & needed & is_real
        return where(gone, zeros_like(t), t), q

    result: tuple[Any, Any] = fori_loop(0, size - 1, step, (t, q))
    return result


def _form(x: Any) -> tuple[Any, Any, Any]:
    """T and Q of one matrix of at least two rows, T in units of the third result; nan if the sweeps did not suffice."""
    size = aval_of(x).shape[0]
    unit = reshape(reduce_max(_size(x), (0, 1)), (1, 1))
    unit = convert(where(unit > 0, unit, full_like(unit, 1)), aval_of(x).dtype)
    packed, _, q = hessenberg_form(x / unit, one(x, size))
    t, q, reached = _iterated(triu(packed, -1), q)
    if aval_of(x).dtype.kind == "f":
        t, q = _standard(t, q)
    reached = reshape(reached, (1, 1))
    t, q = (where(reached, y, full_like(y, np.nan)) for y in (t, q))
    return t, q, unit


def _schur(x: Any, *, compute_schur_vectors: bool) -> list[Any]:
    size = aval_of(x).shape[0]
    t, q = x, one(x, size)
    if size > 1:
        t, q, unit = _form(x)
        t = t * unit
    return [t, q] if compute_schur_vectors else [t]


def _triangular(t: Any, q: Any, dtype: DType) -> tuple[Any, Any]:
    """A real Schur form made complex: blocks of two become triangular, the eigenvalue above the real axis first."""
    size = aval_of(t).shape[0]
    below = _below(t)

    def step(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        t, q = state
        is_block = dynamic_slice_in_dim(below, i, 1) != 0
        is_block = reshape(is_block, (1, 1))
        a, b, c = (real_part(_element(t, *at)) for at in ((i, i), (i, i + 1), (i + 1, i)))
        height = sqrt(abs_(b)) * sqrt(abs_(c))
        length = sqrt(height * height + c * c)
        safe = where(is_block, length, full_like(length, 1))
        # The eigenvector (i height, c).
        x = where(
            is_block, complex_(zeros_like(height), height / safe), full_like(t, 1, shape=(1, 1))
        )
        y = where(is_block, complex_(c / safe, zeros_like(c)), full_like(t, 0, shape=(1, 1)))
        u = concatenate([concatenate([x, -conjugate(y)], 1), concatenate([y, conjugate(x)], 1)], 0)
        t, q = _turned(t, q, i, u)
        rows, columns = row_numbers(t), column_numbers(t)
        for place, value in ((i, complex_(a, height)), (i + 1, complex_(a, -height))):
            t = where((rows == place) & (columns == place) & is_block, value, t)
        return where((rows == i + 1) & (columns == i), zeros_like(t), t), q

    result: tuple[Any, Any] = fori_loop(0, size - 1, step, (convert(t, dtype), convert(q, dtype)))
    return result


def _null_vectors_of(t: Any) -> Any:
    """Columns x_k with ``(T - t_kk) x_k = 0`` and 1 at position k, for a triangular T, by back substitution."""
    size = aval_of(t).shape[0]
    values = _on_diagonal(t)
    least = reduce_max(_size(t), (0, 1)) * np.finfo(aval_of(t).dtype).eps
    least = max_(least, full_like(least, np.finfo(aval_of(t).dtype).tiny))

    def step(k: Any, x: Any) -> Any:
        i = size - 1 - k
        known = matmul(row(t, i), x)
        gaps = reshape(_at(values, i), (1, 1)) - reshape(values, (1, size))
        near = _size(gaps) < least
        gaps = where(near, convert(least, aval_of(t).dtype), gaps)
        line = where(column_numbers(x) > i, -known / gaps, zeros_like(known))
        line = where(column_numbers(x) == i, full_like(line, 1), line)
        # Columns grow where eigenvalues are close; only their directions matter.
        growth = _size(line)
        factor = 1 / where(growth > 1, growth, full_like(growth, 1))
        factor = convert(factor, aval_of(t).dtype)
        x, line = x * factor, line * factor
        return dynamic_update_slice_in_dim(x, line, i, axis=0)

    return fori_loop(0, size, step, zeros_like(t))


_null_vectors = batched(_null_vectors_of, 2)


def _at(x: Any, i: Any) -> Any:
    return dynamic_slice_in_dim(x, i, 1)


def _scaled(vectors: Any) -> Any:
    """Norm 1, the largest component real."""
    squares = real_part(vectors * conjugate(vectors))
    lengths = sqrt(reduce_sum(squares, (0,)))
    size = aval_of(vectors).shape[0]
    # The first of the largest. Not argmax: IREE 3.13 cannot place its iota if the loops above share
    # it.
    rows = row_numbers(vectors)
    is_largest = squares == reshape(reduce_max(squares, (0,)), (1, size))
    first = reduce_min(where(is_largest, rows, full_like(rows, size)), (0,))
    which = rows == reshape(first, (1, size))
    lead = reduce_sum(where(which, vectors, zeros_like(vectors)), (0,))
    phase = conjugate(lead) / convert(abs_(lead) * lengths, aval_of(vectors).dtype)
    vectors = vectors * reshape(phase, (1, size))
    return where(which, convert(real_part(vectors), aval_of(vectors).dtype), vectors)


def _of_a_real_matrix(vectors: Any, heights: Any) -> Any:
    """Real vectors for real eigenvalues, and exact conjugates for pairs.

    The real part of an eigenvector of a real eigenvalue is an eigenvector too.
    """
    size = aval_of(vectors).shape[0]
    heights = reshape(heights, (1, size))
    vectors = where(heights == 0, convert(real_part(vectors), aval_of(vectors).dtype), vectors)
    lengths = sqrt(reduce_sum(real_part(vectors * conjugate(vectors)), (0,)))
    vectors = vectors / convert(reshape(lengths, (1, size)), aval_of(vectors).dtype)
    before = pad(vectors, aval_of(vectors).dtype.type(0), [(0, 0, 0), (1, -1, 0)])
    return where(heights < 0, conjugate(before), vectors)


def _eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool = False,
    implementation: Any = None,
) -> list[Any]:
    """Eigenvectors of T, transformed back by Q; the left ones are those of the adjoint."""
    del enable_eigvec_derivs, implementation
    size, dtype = aval_of(x).shape[0], complex_dtype(aval_of(x).dtype)
    count = compute_left_eigenvectors + compute_right_eigenvectors
    if size < 2:
        return [diagonal(convert(x, dtype)), *[one(convert(x, dtype), size)] * count]
    t, q, unit = _form(x)
    is_real = aval_of(x).dtype.kind == "f"
    if is_real:
        t, q = _triangular(t, q, dtype)
    # IREE 3.13 cannot place an operation that the loops before and after share.
    t, q = optimization_barrier((t, q))
    values = _on_diagonal(t)
    # The adjoint, with rows and columns reversed, is triangular on the same side: one loop serves
    # both.
    both = [rev(adjoint(t), (0, 1))] * compute_left_eigenvectors + [t] * compute_right_eigenvectors
    scaled = values * reshape(convert(unit, dtype), (1,))
    if not both:
        return [scaled]
    found = _null_vectors(concatenate([reshape(t, (1, size, size)) for t in both], 0))
    vectors = [reshape(slice_in_dim(found, i, i + 1), (size, size)) for i in range(len(both))]
    if compute_left_eigenvectors:
        vectors[0] = rev(vectors[0], (0, 1))
    vectors = [matmul(q, v) for v in vectors]
    vectors = [_scaled(v) for v in vectors]
    if is_real:
        vectors = [_of_a_real_matrix(v, imag(values)) for v in vectors]
    return [scaled, *vectors]


schur = batched(_schur, 2)
eig = batched(_eig, 2)

__all__ = ["eig", "schur"]
