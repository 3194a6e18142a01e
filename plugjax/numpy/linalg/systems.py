"""Linear systems, inverses and powers."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.lax.linalg.matrices import identity_like, matmul, symmetrized, transposed
from plugjax.lax.linalg.solve import solve as lax_solve
from plugjax.numpy.creation import array, asarray, empty, zeros
from plugjax.numpy.linalg.factorizations import svd
from plugjax.numpy.linalg.norms import norm
from plugjax.numpy.linalg.operands import adjoint, inexact
from plugjax.numpy.manipulation import moveaxis
from plugjax.numpy.promotion import ArrayLike, as_operand, as_operands, limits, note_rank_promotion
from plugjax.numpy.selection import where


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """The solution of ``a x = b``.

    Shapes:
        a: ``[..., n, n]``.
        b: ``[n]``, or ``[..., n, k]``; leading axes broadcast -> as ``b``.

    Raises:
        ValueError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.ones(2))
        Array([0.5 , 0.25], dtype=float32)
    """
    x, y = inexact("linalg.solve", a, b)
    if x.ndim < 2:
        raise ValueError(f"linalg.solve: a holds matrices, two axes or more, got shape {x.shape}")
    size = x.shape[-1]
    if y.ndim > 1 and x.ndim == y.ndim + 1 and y.shape[-1] == size != y.shape[-2]:
        raise ValueError(
            f"linalg.solve: matrices {x.shape} and right-hand sides {y.shape} do not fit. "
            "If b holds one vector per matrix, use solve(a, b[..., None])[..., 0]."
        )
    if not y.ndim or x.shape[-2] != size or y.shape[-2 if y.ndim > 1 else -1] != size:
        raise ValueError(
            "linalg.solve takes a of shape [..., n, n] and b of shape [n] or [..., n, k], got "
            f"{x.shape} and {y.shape}"
        )
    if x.ndim - 2 != y.ndim - min(y.ndim, 2):
        note_rank_promotion("linalg.solve", [x.shape, y.shape])
    found: Array = lax_solve(x, y)
    return found


def inv(a: ArrayLike) -> Array:
    """Inverse, ``[..., n, n]`` -> ``[..., n, n]``; infinite or nan for singular matrices.

    Raises:
        ValueError: matrices that are not square.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
        Array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """
    x = as_operand("linalg.inv", a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"Argument to inv must have shape [..., n, n], as square matrices have, got {x.shape}."
        )
    return solve(x, identity_like(x, x.shape[-1]))


def matrix_power(a: ArrayLike, n: int) -> Array:
    """Product of ``n`` equal matrices; of inverses if ``n`` is negative.

    Shapes:
        a: ``[..., m, m]`` -> the same.

    Raises:
        TypeError: matrices that are not square, or a power that is not an integer.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 5)
        Array([[1, 5],
               [0, 1]], dtype=int32)
    """
    x = as_operand("linalg.matrix_power", a)
    if x.ndim < 2:
        raise TypeError(f"linalg.matrix_power takes matrices, two axes or more, got {x.ndim}")
    if x.shape[-2] != x.shape[-1]:
        raise TypeError(f"linalg.matrix_power takes square matrices, got shape {x.shape}")
    try:
        power = operator.index(n)
    except TypeError:
        raise TypeError(f"linalg.matrix_power: the power is an integer, got {n}") from None
    if power == 0:
        one: Array = identity_like(x, x.shape[-1])
        return one
    if power < 0:
        x, power = inv(x), -power
    # Repeated squaring: the product of the squares selected by the binary digits of the power.
    product: Array | None = None
    while power:
        power, digit = divmod(power, 2)
        if digit:
            product = x if product is None else product @ x
        x = x @ x if power else x
    assert product is not None
    return product


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """Moore-Penrose inverse, ``[..., m, n]`` -> ``[..., n, m]``.

    Args:
        a: the matrices.
        rtol: singular values below this share of the largest count as zero; ``10 max(m, n) eps`` by default.
        hermitian: whether the matrices are Hermitian.
        rcond: another name of ``rtol``.

    Raises:
        ValueError: both ``rtol`` and ``rcond``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.pinv(jnp.array([[2.0], [0.0]]))
        Array([[0.5, 0. ]], dtype=float32)
    """
    if rcond is not None:
        if rtol is not None:
            raise ValueError("linalg.pinv: rcond is another name of rtol; give one of them.")
        rtol = rcond
    (x,) = inexact("linalg.pinv", a)
    rows, columns = x.shape[-2:]
    if not rows or not columns:
        return empty((*x.shape[:-2], columns, rows), x.dtype)
    if rtol is None:
        rtol = 10.0 * max(rows, columns) * float(limits(x.dtype).eps)
    found: Array = (_hermitian_pinv if hermitian else _pinv)(x, asarray(rtol))
    return found


def _truncated_inverse(x: Any, rtol: Any, hermitian: bool) -> Any:
    u, s, vh = svd(
        lax.conj(x) if x.dtype.kind == "c" else x, full_matrices=False, hermitian=hermitian
    )
    share = lax.expand_dims(rtol, tuple(range(rtol.ndim, s.ndim)))
    kept = s > share * s[..., :1]
    inverse = where(kept, 1 / where(kept, s, 1), 0).astype(x.dtype)
    return matmul(transposed(vh), inverse[..., None] * transposed(u))


@custom_jvp
def _pinv(x: Any, rtol: Any) -> Any:
    return _truncated_inverse(x, rtol, False)


@custom_jvp
def _hermitian_pinv(x: Any, rtol: Any) -> Any:
    return _truncated_inverse(x, rtol, True)


@_pinv.defjvp
def _pinv_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    return _pinv_derivative(_pinv(*primals), primals[0], tangents[0])


@_hermitian_pinv.defjvp
def _hermitian_pinv_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    p = _hermitian_pinv(*primals)
    return _pinv_derivative(p, symmetrized(primals[0]), symmetrized(tangents[0]))


def _pinv_derivative(p: Any, a: Any, a_dot: Any) -> tuple[Any, Any]:
    """``P_dot = -P A_dot P + P P^H A_dot^H (1 - A P) + (1 - P A) A_dot^H P^H P``, where the rank does not change.

    Reference:
        Golub, Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973, (4.12).
    """
    change = adjoint(a_dot)
    left = matmul(matmul(p, adjoint(p)), change)
    right = matmul(matmul(change, adjoint(p)), p)
    p_dot = (
        left
        + right
        - matmul(matmul(p, a_dot), p)
        - matmul(matmul(left, a), p)
        - matmul(matmul(p, a), right)
    )
    return p, p_dot


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The least-squares solution: the least ``x`` that minimizes ``|b - a x|``.

    Shapes:
        a: ``[m, n]``.
        b: ``[m]`` or ``[m, k]`` -> ``[n]`` or ``[n, k]``.

    Args:
        a: the matrix.
        b: right-hand sides.
        rcond: singular values below this share of the largest count as zero; ``max(m, n) eps`` by default.
        numpy_resid: whether to return residuals as NumPy does: none if the rank is less than n, or m <= n.

    Returns:
        ``x``, the sums of squared residuals, the rank, and the singular values of ``a``.

    Raises:
        ValueError: leading sizes differ.
        TypeError: other ranks.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))[0].round(3)
        Array([2.], dtype=float32)
    """
    x, y = inexact("linalg.lstsq", a, b)
    if not x.ndim or not y.ndim or x.shape[0] != y.shape[0]:
        raise ValueError(
            f"linalg.lstsq: a and b have equally many rows, got shapes {x.shape} and {y.shape}"
        )
    vector = y.ndim == 1
    y = y[:, None] if vector else y
    if x.ndim != 2:
        raise TypeError(f"linalg.lstsq: a is a matrix, got {x.ndim} axes")
    if y.ndim != 2:
        raise TypeError(f"linalg.lstsq: b is a vector or a matrix, got {y.ndim} axes")
    rows, columns = x.shape
    if not rows or not columns:
        s, rank = empty((0,), x.dtype), array(0, dtype=int)
        solution: Any = zeros((columns, y.shape[1]), x.dtype)
    else:
        eps = float(limits(x.dtype).eps)
        share: Any = (
            eps * max(rows, columns) if rcond is None else where(asarray(rcond) < 0, eps, rcond)
        )
        u, s, vh = svd(x, full_matrices=False)
        kept = (s > 0) & (s >= asarray(share, s.dtype) * s[0])
        rank = kept.sum()
        inverse = where(kept, 1 / where(kept, s, 1), 0).astype(x.dtype)
        solution = matmul(adjoint(vh), inverse[:, None] * matmul(adjoint(u), y))
    if numpy_resid and (rows <= columns or int(rank) < columns):
        residuals = asarray(np.zeros(0, dtypes.canonicalize(float)))
    else:
        residuals = norm(y - matmul(x, solution), axis=0) ** 2
    return (solution.ravel() if vector else solution), residuals, rank, s


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Inverse of ``a`` as a linear map from its last axes to its first ``ind`` ones.

    Raises:
        ValueError: ``ind`` is not positive, or the sizes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.tensorinv(2 * jnp.eye(4).reshape(4, 2, 2), ind=1)[:, :, 0]
        Array([[0.5, 0. ],
               [0. , 0. ]], dtype=float32)
    """
    x = as_operand("linalg.tensorinv", a)
    count = operator.index(ind)
    if count <= 0:
        raise ValueError(f"linalg.tensorinv needs ind >= 1, got ind={ind}")
    first, last = x.shape[:count], x.shape[count:]
    if math.prod(first) != math.prod(last):
        raise ValueError(
            f"linalg.tensorinv: shape {x.shape}, cut at ind={count}, has two parts of different sizes; "
            "a square matrix needs equal ones."
        )
    result: Array = inv(x.reshape(math.prod(first), math.prod(last))).reshape(*last, *first)
    return result


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Array:
    """The ``x`` whose product with the last axes of ``a`` is ``b``.

    Args:
        a: an array whose first axes are those of ``b``.
        b: an array.
        axes: axes of ``a`` to move to its end first.

    Raises:
        ValueError: sizes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.tensorsolve(2.0 * jnp.eye(4).reshape(2, 2, 4), jnp.ones((2, 2)))
        Array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """
    x, y = as_operands("linalg.tensorsolve", a, b)
    if axes is not None:
        x = moveaxis(x, axes, tuple(range(x.ndim - len(axes), x.ndim)))
    shape = x.shape[y.ndim :]
    if x.shape[: y.ndim] != y.shape:
        raise ValueError(
            f"linalg.tensorsolve: the first axes of a, with `axes` at the end {x.shape}, are not those of b {y.shape}."
        )
    if y.size != math.prod(shape):
        raise ValueError(
            f"linalg.tensorsolve: a {x.shape} is no square system: its first {y.ndim} axes, those of b, "
            "and the others differ in size."
        )
    result: Array = solve(x.reshape(y.size, math.prod(shape)), y.ravel()).reshape(shape)
    return result
