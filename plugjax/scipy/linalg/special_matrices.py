"""Matrices of given patterns."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.numpy.linalg.operands import inexact
from plugjax.numpy.promotion import ArrayLike, as_operands, canonical_dtype

_KINDS = ("symmetric", "lower", "upper")


def _vectors(who: str, *args: ArrayLike) -> list[Any]:
    """Arguments as arrays of at least one axis."""
    return [jnp.atleast_1d(x) for x in as_operands(f"scipy.linalg.{who}", *args)]


def _joined(x: Any, y: Any) -> tuple[Any, Any]:
    """Concatenation of vectors with equal leading axes."""
    batch = jnp.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    return jnp.broadcast_to(x, (*batch, x.shape[-1])), jnp.broadcast_to(y, (*batch, y.shape[-1]))


def _default(values: np.ndarray[Any, Any], dtype: Any = float) -> Array:
    """A constant, of a default dtype."""
    return jnp.asarray(values.astype(dtypes.canonicalize(dtype)))


def block_diag(*arrs: ArrayLike) -> Array:
    """The matrix with the given ones along its diagonal, zeros elsewhere.

    Raises:
        ValueError: an array with more than two axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import block_diag
        >>> block_diag(jnp.ones((1, 1)), jnp.ones((1, 2)))
        Array([[1., 0., 0.],
               [0., 1., 1.]], dtype=float32)
    """
    given = list(arrs) or [jnp.zeros((1, 0))]
    for place, x in enumerate(given):
        if jnp.ndim(x) > 2:
            raise ValueError(
                f"block_diag takes matrices, vectors and scalars, got {x} at argument {place}."
            )
    blocks = [jnp.atleast_2d(x) for x in as_operands("scipy.linalg.block_diag", *given)]
    width, column, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(jnp.pad(x, [(0, 0), (column, width - column - x.shape[1])]))
        column += x.shape[1]
    return jnp.concatenate(rows, axis=0)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The matrix with constant diagonals whose first column is ``c`` and first row ``r``.

    Shapes:
        c: ``[..., m]``.
        r: ``[..., n]``, whose first element is not read; the conjugate of ``c`` if left out -> ``[..., m, n]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import toeplitz
        >>> toeplitz(jnp.array([1, 2, 3]))
        Array([[1, 2, 3],
               [2, 1, 2],
               [3, 2, 1]], dtype=int32)
    """
    column, *rest = _vectors("toeplitz", c, *(() if r is None else (r,)))
    row = rest[0] if rest else jnp.conjugate(column)
    column, row = _joined(column, row)
    rows, columns = column.shape[-1], row.shape[-1]
    if not rows or not columns:
        return jnp.zeros((*column.shape[:-1], rows, columns), jnp.result_type(column, row))
    line = jnp.concatenate([jnp.flip(column, -1), row[..., 1:]], axis=-1)
    places = rows - 1 - np.arange(rows)[:, None] + np.arange(columns)
    return jnp.take(line, places, axis=-1)


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The matrix with constant antidiagonals whose first column is ``c`` and last row ``r``.

    Shapes:
        c: ``[..., m]``.
        r: ``[..., n]``, whose first element is not read; zeros if left out -> ``[..., m, n]``.

    Raises:
        ValueError: a scalar.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import hankel
        >>> hankel(jnp.array([1, 2]))
        Array([[1, 2],
               [2, 0]], dtype=int32)
    """
    column, *rest = as_operands("scipy.linalg.hankel", c, *(() if r is None else (r,)))
    row = rest[0] if rest else jnp.zeros_like(column)
    for name, x in (("c", column), ("r", row)):
        if not x.ndim:
            raise ValueError(f"hankel: {name} is a scalar, and needs an axis.")
    column, row = _joined(column, row)
    rows, columns = column.shape[-1], row.shape[-1]
    if not rows or not columns:
        return jnp.zeros((*column.shape[:-1], rows, columns), jnp.result_type(column, row))
    line = jnp.concatenate([column, row[..., 1:]], axis=-1)
    return jnp.take(line, np.arange(rows)[:, None] + np.arange(columns), axis=-1)


def circulant(c: ArrayLike) -> Array:
    """The matrix whose columns are rotations of ``c``, ``[..., n]`` -> ``[..., n, n]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import circulant
        >>> circulant(jnp.array([1, 2, 3]))
        Array([[1, 3, 2],
               [2, 1, 3],
               [3, 2, 1]], dtype=int32)
    """
    (column,) = _vectors("circulant", c)
    every = np.arange(column.shape[-1])
    if not every.size:
        return jnp.zeros((*column.shape, 0), column.dtype)
    return jnp.take(column, (every[:, None] - every) % every.size, axis=-1)


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """The matrix with ``f`` as first row and ``s`` below the diagonal.

    Shapes:
        f: ``[..., n]``, n > 1.
        s: ``[..., n - 1]`` -> ``[..., n, n]``.

    Raises:
        ValueError: other lengths.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import leslie
        >>> leslie(jnp.array([1, 2]), jnp.array([3]))
        Array([[1, 2],
               [3, 0]], dtype=int32)
    """
    first, below = _vectors("leslie", f, s)
    if first.shape[-1] < 2:
        raise ValueError(
            f"leslie: f needs two entries or more along its last axis, got shape {first.shape}."
        )
    if below.shape[-1] != first.shape[-1] - 1:
        raise ValueError(
            f"leslie: s needs one entry less than f along the last axis, got f of shape {first.shape} and s of shape "
            f"{below.shape}."
        )
    return _first_row_and_below(*_joined(first, below))


def _first_row_and_below(first: Any, below: Any) -> Array:
    size = first.shape[-1]
    diagonal = below[..., :, None] * jnp.eye(size - 1, size, dtype=below.dtype)
    return jnp.concatenate([first[..., None, :], diagonal], axis=-2)


def companion(a: ArrayLike) -> Array:
    """The companion matrix of a polynomial, highest power first, ``[..., n]`` -> ``[..., n - 1, n - 1]``.

    Raises:
        ValueError: less than two coefficients.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import companion
        >>> companion(jnp.array([1.0, -3.0, 2.0]))
        Array([[ 3., -2.],
               [ 1.,  0.]], dtype=float32)
    """
    (x,) = inexact("scipy.linalg.companion", a)
    x = jnp.atleast_1d(x)
    if x.shape[-1] < 2:
        raise ValueError(
            f"companion: `a` needs two entries or more along its last axis, got shape {x.shape}."
        )
    first = -x[..., 1:] / x[..., :1]
    return _first_row_and_below(first, jnp.ones_like(first[..., 1:]))


def fiedler(a: ArrayLike) -> Array:
    """Absolute values of the differences of all pairs, ``[..., n]`` -> ``[..., n, n]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import fiedler
        >>> fiedler(jnp.array([1, 4]))
        Array([[0, 3],
               [3, 0]], dtype=int32)
    """
    (x,) = _vectors("fiedler", a)
    return jnp.abs(x[..., :, None] - x[..., None, :])


def fiedler_companion(a: ArrayLike) -> Array:
    """Fiedler's companion matrix of a polynomial, with five diagonals, ``[..., n]`` -> ``[..., n - 1, n - 1]``.

    Raises:
        ValueError: no coefficients.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import fiedler_companion
        >>> fiedler_companion(jnp.array([1.0, -3.0, 2.0]))
        Array([[ 3., -2.],
               [ 1.,  0.]], dtype=float32)
    """
    (x,) = inexact("scipy.linalg.fiedler_companion", a)
    x = jnp.atleast_1d(x)
    if not x.shape[-1]:
        raise ValueError(f"fiedler_companion: the last axis of `a` is empty in shape {x.shape}.")
    size = x.shape[-1] - 1
    if size < 1:
        return jnp.zeros((*x.shape[:-1], 0, 0), x.dtype)
    # The position of each coefficient (0: none), and the positions of ones.
    which, ones = np.zeros((size, size), np.int32), np.zeros((size, size))
    which[0, 0] = 1
    even = np.arange(0, size - 1, 2)
    which[even, even + 1] = even + 2
    which[even[1:], even[1:] - 1] = even[1:] + 1
    if size > 1 and size % 2:
        which[size - 1, size - 2] = size
    ones[even[: len(np.arange(0, size - 2, 2))], np.arange(2, size, 2)] = 1
    odd = np.arange(3, size, 2)
    ones[odd, odd - 2] = 1
    ones[1:2, 0] = 1
    placed = jnp.take(-x / x[..., :1], which, axis=-1)
    result: Array = jnp.where(which > 0, placed, jnp.asarray(ones, x.dtype))
    return result


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrix whose product with a vector of length ``n`` is its convolution with ``a``.

    Shapes:
        a: ``[..., m]`` -> ``[..., k, n]``; k is m + n - 1, or less.

    Args:
        a: a vector.
        n: length of the other.
        mode: ``"full"``, ``"same"`` or ``"valid"``, as in ``numpy.convolve``.

    Raises:
        ValueError: ``n`` is not positive, ``a`` is empty or a scalar, or another mode.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import convolution_matrix
        >>> convolution_matrix(jnp.array([1, 2]), 2)
        Array([[1, 0],
               [2, 1],
               [0, 2]], dtype=int32)
    """
    count = operator.index(n)
    if count <= 0:
        raise ValueError(f"convolution_matrix: n is a positive integer, got {count}.")
    (x,) = as_operands("scipy.linalg.convolution_matrix", a)
    if not x.ndim:
        raise ValueError("convolution_matrix: a is a scalar, and needs an axis.")
    size = x.shape[-1]
    if size < 1:
        raise ValueError(f"convolution_matrix: the last axis of a is empty in shape {x.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"convolution_matrix: mode is 'full', 'valid' or 'same', got {mode!r}.")
    trim = 0 if mode == "full" else min(count, size) - 1
    start = trim if mode == "valid" else trim // 2
    stop = size + count - 1 - (trim if mode == "valid" else trim - trim // 2)
    places = np.arange(start, stop)[:, None] - np.arange(count)
    inside = (places >= 0) & (places < size)
    result: Array = jnp.where(inside, jnp.take(x, places.clip(0, size - 1), axis=-1), 0)
    return result


def hilbert(n: int) -> Array:
    """``1 / (i + j + 1)``, ``[n, n]``.

    Example:
        >>> from plugjax.scipy.linalg import hilbert
        >>> hilbert(2).round(3)
        Array([[1.   , 0.5  ],
               [0.5  , 0.333]], dtype=float32)
    """
    every = np.arange(operator.index(n))
    return _default(1.0 / (every[:, None] + every + 1))


def _table(n: float, element: Any) -> np.ndarray[Any, Any]:
    """Elements from their row and column, which count up to ``n``; integers of any size."""
    n = math.ceil(n)
    rows = [[float(element(i, j)) for j in range(n)] for i in range(n)]
    return np.array(rows, np.float64).reshape(n, n)


def invhilbert(n: int) -> Array:
    """The inverse of :func:`hilbert`, rounded from exact integers.

    Example:
        >>> from plugjax.scipy.linalg import invhilbert
        >>> invhilbert(2)
        Array([[ 4., -6.],
               [-6., 12.]], dtype=float32)
    """

    def element(i: int, j: int) -> int:
        size = math.comb(n + i, n - j - 1) * math.comb(n + j, n - i - 1) * math.comb(i + j, i) ** 2
        sign: int = (-1) ** (i + j)
        return sign * (i + j + 1) * size

    return _default(_table(n, element))


def _check_kind(kind: str | None) -> str:
    found = kind or "symmetric"
    if found not in _KINDS:
        raise ValueError(f"kind is one of {list(_KINDS)}, got {kind}.")
    return found


def pascal(n: int, kind: str | None = None) -> Array:
    """Binomial coefficients: of ``i + j`` over ``i``, or in a triangle of ``i`` over ``j``; float32.

    Args:
        n: size.
        kind: ``"symmetric"`` (as ``None``), ``"lower"`` or ``"upper"``.

    Raises:
        ValueError: another kind.

    Example:
        >>> from plugjax.scipy.linalg import pascal
        >>> pascal(3, "lower")
        Array([[1., 0., 0.],
               [1., 1., 0.],
               [1., 2., 1.]], dtype=float32)
    """
    found = _check_kind(kind)
    if found == "symmetric":
        return _default(_table(n, lambda i, j: math.comb(i + j, i)), np.float32)
    lower = _table(n, math.comb)
    return _default(lower if found == "lower" else lower.T, np.float32)


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of :func:`pascal`, rounded from exact integers.

    Raises:
        ValueError: another kind.

    Example:
        >>> from plugjax.scipy.linalg import invpascal
        >>> invpascal(2)
        Array([[ 2., -1.],
               [-1.,  1.]], dtype=float32)
    """
    found = _check_kind(kind)
    n = math.ceil(n)

    def signed(i: int, j: int) -> int:
        sign: int = (-1) ** (i + j)
        return sign * math.comb(i, j)

    if found == "symmetric":
        whole = _table(n, lambda i, j: sum(signed(k, i) * signed(k, j) for k in range(n)))
        return _default(whole)
    lower = _table(n, signed)
    return _default(lower if found == "lower" else lower.T)


def helmert(n: int, full: bool = False) -> Array:
    """Orthonormal rows that are orthogonal to the vector of ones; with ``full``, that vector comes first.

    Raises:
        ValueError: ``n`` is not positive.

    Example:
        >>> from plugjax.scipy.linalg import helmert
        >>> helmert(2).round(3)
        Array([[ 0.707, -0.707]], dtype=float32)
    """
    if n < 1:
        raise ValueError(f"helmert: n is a positive integer, got {n}.")
    k, j = np.arange(1, n)[:, None], np.arange(n)
    rows: np.ndarray[Any, Any] = np.where(j < k, 1.0, np.where(j == k, -k, 0.0)) / np.sqrt(
        k * (k + 1.0)
    )
    if full:
        rows = np.concatenate([np.full((1, n), 1 / math.sqrt(n)), rows])
    return _default(rows)


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Hadamard's matrix of ones and minus ones, orthogonal; ``n`` is a power of 2.

    Raises:
        ValueError: another ``n``.

    Example:
        >>> from plugjax.scipy.linalg import hadamard
        >>> hadamard(2)
        Array([[ 1,  1],
               [ 1, -1]], dtype=int32)
    """
    if n < 1 or n != int(n) or int(n) & (int(n) - 1):
        raise ValueError(f"hadamard: n is a power of two, got {n}.")
    found: np.ndarray[Any, Any] = np.ones((1, 1))
    while len(found) < n:
        found = np.kron([[1, 1], [1, -1]], found)
    return _default(found, canonical_dtype("hadamard", dtype))


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform.

    Args:
        n: size.
        scale: ``"sqrtn"`` divides by the root of ``n``, ``"n"`` by ``n``.
        dtype: complex.

    Raises:
        ValueError: another scale, or a dtype that is not complex.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import dft
        >>> jnp.real(dft(2)).round(3)
        Array([[ 1.,  1.],
               [ 1., -1.]], dtype=float32)
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: scale is None, 'sqrtn' or 'n', got {scale!r}.")
    kind = dtypes.canonicalize(complex) if dtype is None else canonical_dtype("dft", dtype)
    if kind.kind != "c":
        raise ValueError(f"dft needs a complex dtype, got {kind}.")
    every = np.arange(n)
    # Angles are reduced modulo n turns: their cosines and sines are as accurate as those of small
    # angles.
    turns = np.exp(-2j * np.pi * (np.outer(every, every) % max(n, 1)) / max(n, 1))
    divisor = {None: 1.0, "sqrtn": math.sqrt(n), "n": n}[scale]
    return _default(turns / divisor, kind)
