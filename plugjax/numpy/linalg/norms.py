"""Norms of vectors and matrices, and rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.numpy.arithmetic import abs as abs_, power, sqrt
from plugjax.numpy.linalg.factorizations import svd
from plugjax.numpy.linalg.operands import inexact
from plugjax.numpy.manipulation import canonical_axis, expand_dims, moveaxis
from plugjax.numpy.promotion import ArrayLike, as_operand, limits, scalar
from plugjax.numpy.reductions import any as any_, max as max_, min as min_, sum as sum_
from plugjax.numpy.shape_info import ndim

Order = int | float | str | None


def _length(x: Array, axis: Any, keepdims: bool) -> Array:
    """Euclidean length along axes."""
    squares = lax.real(x * lax.conj(x)) if x.dtype.kind == "c" else x * x
    return sqrt(sum_(squares, axis=axis, keepdims=keepdims))


def norm(
    x: ArrayLike,
    ord: Order = None,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Array:
    """Norm of vectors or matrices.

    Args:
        x: an array.
        ord: for vectors see :func:`vector_norm`; for matrices ``"fro"`` (as ``None``), ``"nuc"``, 2, -2, 1, -1, inf,
            -inf.
        axis: one axis of vectors, two axes of matrices; by default the array is a vector or a matrix, with ``ord=None``
            a flattened vector.
        keepdims: whether to keep the axes, with size 1.

    Raises:
        ValueError: another order, or other numbers of axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
        Array(5., dtype=float32)
    """
    (value,) = inexact("linalg.norm", x)
    if axis is None:
        if ord is None:
            return _length(value, None, keepdims)
        axes = tuple(range(value.ndim))
    else:
        given = axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(canonical_axis(a, value.ndim) for a in given)
    if len(axes) == 1:
        return vector_norm(value, ord=2 if ord is None else ord, axis=axes, keepdims=keepdims)
    if len(axes) != 2:
        raise ValueError(f"linalg.norm: vectors have one axis, matrices two, got axis={axis}.")
    if ord is None or ord in ("f", "fro"):
        return _length(value, axes, keepdims)
    if isinstance(ord, str) and ord != "nuc":
        raise ValueError(f"linalg.norm: matrices have no norm of order '{ord}'.")
    rows, columns = axes
    if ord in (1, -1):
        return _line_sums(value, rows, columns, ord > 0, keepdims)
    if ord in (np.inf, -np.inf):
        return _line_sums(value, columns, rows, ord > 0, keepdims)
    if ord not in ("nuc", 2, -2):
        raise ValueError(f"linalg.norm: matrices have no norm of order '{ord}'.")
    s = svd(moveaxis(value, axes, (-2, -1)), compute_uv=False)
    if ord == "nuc":
        found = sum_(s, axis=-1)
    else:
        found = max_(s, axis=-1, initial=0) if ord == 2 else min_(s, axis=-1)
    return expand_dims(found, axes) if keepdims else found


def _line_sums(x: Array, over: int, across: int, largest: bool, keepdims: bool) -> Array:
    """Extremum of the sums of absolute values along an axis."""
    sums = sum_(abs_(x), axis=over, keepdims=True)
    found = (
        max_(sums, axis=across, keepdims=True, initial=0)
        if largest
        else min_(sums, axis=across, keepdims=True)
    )
    return found if keepdims else found.squeeze((over, across))


def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: Order = 2,
) -> Array:
    """Norm of vectors: ``sum(|x|^ord)^(1/ord)``.

    Args:
        x: an array.
        axis: the axes that make a vector; all by default.
        keepdims: whether the axes stay, with size 1.
        ord: a number; inf and -inf give the largest and the least absolute value, 0 the number of nonzero elements.

    Raises:
        ValueError: a name.
        TypeError: a negative order for integers.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.vector_norm(jnp.array([3.0, -4.0]), ord=1)
        Array(7., dtype=float32)
    """
    value = as_operand("linalg.vector_norm", x)
    if ord is None or ord == 2:
        return _length(value, axis, keepdims)
    if isinstance(ord, str):
        hint = " Give plugjax.numpy.inf." if ord.endswith("inf") else ""
        raise ValueError(f"linalg.vector_norm: vectors have no norm of order '{ord}'.{hint}")
    if ord == np.inf:
        return max_(abs_(value), axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return min_(abs_(value), axis=axis, keepdims=keepdims)
    if ord == 0:
        kind = limits(value.dtype).dtype
        return sum_(value != 0, dtype=kind, axis=axis, keepdims=keepdims)
    sizes = abs_(value)
    if ord == 1:
        return sum_(sizes, axis=axis, keepdims=keepdims)
    if sizes.dtype.kind in "iu" and ord < 0:
        raise TypeError(
            f"linalg.vector_norm: a negative order needs floating numbers, got integers and order {ord}"
        )
    exponent = scalar(ord, sizes)
    total = sum_(power(sizes, exponent), axis=axis, keepdims=keepdims)
    return power(total, scalar(1.0 / ord, sizes))


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Order = "fro") -> Array:
    """Norm of the matrices in the last two axes; see :func:`norm`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.matrix_norm(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
        Array(5., dtype=float32)
    """
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """Number of singular values above ``rtol``.

    Shapes:
        M: ``[..., m, n]`` -> ``[...]``; of a vector, whether it is not zero.

    Args:
        M: the matrices.
        rtol: the bound; ``max(m, n) eps`` times the largest singular value by default.
        hermitian: whether the matrices are Hermitian.
        tol: another name of ``rtol``.

    Raises:
        ValueError: both ``rtol`` and ``tol``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.matrix_rank(jnp.ones((3, 3)))
        Array(1, dtype=int32)
    """
    if tol is not None:
        if rtol is not None:
            raise ValueError("linalg.matrix_rank: tol is another name of rtol; give one of them.")
        rtol = tol
    (x,) = inexact("linalg.matrix_rank", M)
    if x.ndim < 2:
        nonzero: Array = any_(x != 0).astype(np.int32)
        return nonzero
    s = svd(x, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if rtol is None:
        largest = max_(s, axis=-1)
        rtol = largest * scalar(max(x.shape[-2:]) * float(limits(s.dtype).eps), s)
    return sum_(s > expand_dims(rtol, ndim(rtol)), axis=-1)
