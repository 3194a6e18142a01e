"""Factors of matrices: Cholesky, LU, QR, singular values, polar, Hessenberg."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

import plugjax.numpy as jnp
from plugjax.extend.core import Array
from plugjax.lax import linalg as lax_linalg
from plugjax.lax.linalg.householder import geqp3, geqrf
from plugjax.lax.linalg.matrices import adjoint, matmul
from plugjax.numpy.linalg.operands import inexact
from plugjax.numpy.promotion import ArrayLike
from plugjax.scipy.linalg.mapped import over_matrices


def _inexact(who: str, *args: ArrayLike) -> list[Any]:
    return inexact(f"scipy.linalg.{who}", *(jnp.asarray(x) for x in args))


def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Triangular ``U`` with ``U^H U = a``, or ``L`` with ``L L^H = a``; nan if ``a`` is not positive definite.

    Shapes:
        a: ``[..., n, n]``; one triangle is read -> the same.

    Args:
        a: the matrices.
        lower: whether to read and to return the lower triangle.
        overwrite_a: has no effect.
        check_finite: has no effect.

    Raises:
        TypeError: not a matrix, with ``lower``; a ``ValueError`` otherwise, as in JAX.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import cholesky
        >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        Array([[2., 1.],
               [0., 2.]], dtype=float32)
    """
    del overwrite_a, check_finite
    (x,) = _inexact("cholesky", a)
    turned = x if lower else jnp.conj(jnp.matrix_transpose(x))
    factor = lax_linalg.cholesky(turned, symmetrize_input=False)
    found: Array = factor if lower else adjoint(factor)
    return found


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """The Cholesky factor, and ``lower``, for :func:`cho_solve`.

    Example:
        >>> from plugjax.scipy import linalg
        >>> import plugjax.numpy as jnp
        >>> linalg.cho_factor(jnp.array([[4.0, 2.0], [2.0, 2.0]]), lower=True)[1]
        True
    """
    return cholesky(a, lower, overwrite_a, check_finite), lower


def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """LU factors in one matrix, and the row exchanges, for :func:`lu_solve`.

    Shapes:
        a: ``[..., m, n]`` -> ``[..., m, n]`` and ``[..., min(m, n)]``, int32.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import lu_factor
        >>> lu_factor(jnp.array([[1.0, 2.0], [4.0, 4.0]]))[1]
        Array([1, 1], dtype=int32)
    """
    del overwrite_a, check_finite
    factors, pivots, _ = lax_linalg.lu(*_inexact("lu_factor", a))
    return factors, pivots


def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """``(P, L, U)`` with ``a = P L U``; with ``permute_l``, ``(P L, U)``.

    Shapes:
        a: ``[m, n]``.

    Raises:
        TypeError: not a matrix.
        ValueError: several matrices.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import lu
        >>> lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))[2]
        Array([[4., 4.],
               [0., 1.]], dtype=float32)
    """
    del overwrite_a, check_finite
    (x,) = _inexact("lu", a)
    factors, _, permutation = lax_linalg.lu(x)
    if x.ndim != 2:
        raise ValueError(f"scipy.linalg.lu takes one matrix, got an array of shape {x.shape}")
    rows, columns = x.shape
    least = min(rows, columns)
    left = jnp.tril(factors, -1)[:, :least] + jnp.eye(rows, least, dtype=x.dtype)
    right = jnp.triu(factors)[:least, :]
    places = jnp.arange(rows, dtype=np.int32)[:, None] == permutation[None, :]
    if permute_l:
        return matmul(places.astype(x.dtype), left), right
    real = np.finfo(x.dtype).dtype if x.dtype.kind == "c" else x.dtype
    return places.astype(real), left, right


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """QR factors.

    Shapes:
        a: ``[..., m, n]``.

    Args:
        a: the matrices.
        overwrite_a: has no effect.
        lwork: has no effect.
        mode: ``"full"`` for ``(Q, R)`` with a square Q, ``"economic"`` for min(m, n) columns, ``"r"`` for ``(R,)``.
        pivoting: whether to permute the columns, and to return their order last.
        check_finite: has no effect.

    Raises:
        ValueError: another mode.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import qr
        >>> jnp.abs(qr(jnp.array([[3.0], [4.0]]), mode="r")[0])
        Array([[5.],
               [0.]], dtype=float32)
    """
    del overwrite_a, lwork, check_finite
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"qr: mode is 'full', 'r' or 'economic', got '{mode}'.")
    found = lax_linalg.qr(*_inexact("qr", a), pivoting=pivoting, full_matrices=mode != "economic")
    return found[1:] if mode == "r" else found


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """``c Q`` or ``Q c``, and R, without making Q; Q has k = min(m, n) columns.

    Shapes:
        a: ``[..., m, n]``.
        c: ``[..., p, m]`` (``"right"``) or ``[..., k, p]`` (``"left"``); or one vector.

    Args:
        a: the factored matrices.
        c: the other factor.
        mode: ``"right"`` for ``c Q``, ``"left"`` for ``Q c``.
        pivoting: whether to permute the columns of ``a``, and to return their order last.
        conjugate: whether to take the conjugate of Q.
        overwrite_a: has no effect.
        overwrite_c: has no effect.

    Raises:
        ValueError: another mode, or shapes that do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import qr_multiply
        >>> jnp.abs(qr_multiply(jnp.array([[3.0], [4.0]]), jnp.array([3.0, 4.0]))[0])
        Array([5.], dtype=float32)
    """
    del overwrite_a, overwrite_c
    x, y = _inexact("qr_multiply", a, c)
    if mode not in ("right", "left"):
        raise ValueError(f"qr_multiply: mode is 'right' or 'left', got {mode!r}.")
    left = mode == "left"
    vector = y.ndim == 1
    if vector:
        y = y[:, None] if left else y[None, :]
    rows, columns = x.shape[-2:]
    least = min(rows, columns)
    wanted, found = (least, y.shape[-2]) if left else (rows, y.shape[-1])
    if wanted != found:
        raise ValueError(
            f"qr_multiply: a has shape {x.shape}, so c needs {wanted} {'rows' if left else 'columns'}, and has {found}."
        )
    batch = jnp.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = jnp.broadcast_to(x, (*batch, rows, columns))
    y = jnp.broadcast_to(y, (*batch, *y.shape[-2:]))
    order: list[Array] = []
    if pivoting:
        packed, numbers, taus = geqp3(x, jnp.zeros((*batch, columns), np.int32))
        order = [numbers - 1]
    else:
        packed, taus = geqrf(x)
    if left and rows > columns:
        zeros = jnp.zeros((*batch, rows - least, y.shape[-1]), y.dtype)
        y = jnp.concatenate([y, zeros], axis=-2)
    # The conjugate of Q c is that of Q times that of c.
    y = jnp.conj(y) if conjugate else y
    product = lax_linalg.ormqr(packed, taus, y, left=left)
    product = jnp.conj(product) if conjugate else product
    product = product if left else product[..., :least]
    return (product.ravel() if vector else product), jnp.triu(packed[..., :least, :]), *order


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, Array, Array]: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array: ...


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """``(U, s, Vh)`` with ``a = U diag(s) Vh``, or s alone; see :func:`plugjax.numpy.linalg.svd`.

    Example:
        >>> from plugjax.scipy import linalg
        >>> import plugjax.numpy as jnp
        >>> linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
        Array([4., 3.], dtype=float32)
    """
    del overwrite_a, check_finite, lapack_driver
    (x,) = _inexact("svd", a)
    return lax_linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)


def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Polar factors: ``a = u p`` with ``side="right"``, ``a = p u`` with ``"left"``.

    p is Hermitian and positive semidefinite.

    Shapes:
        a: ``[..., m, n]``.

    Args:
        a: the matrices.
        side: the side of p.
        method: ``"qdwh"`` or ``"svd"``. The former takes m >= n with ``"right"`` and m < n with ``"left"``.
        eps: precision of ``"qdwh"``.
        max_iterations: limit of iterations of ``"qdwh"``.

    Raises:
        ValueError: another side or method, or not a matrix.
        NotImplementedError: sizes that ``"qdwh"`` does not take.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import polar
        >>> polar(jnp.array([[0.0, -2.0], [3.0, 0.0]]))[1].round(3)
        Array([[3., 0.],
               [0., 2.]], dtype=float32)
    """
    x = jnp.asarray(a)
    if x.ndim < 2:
        raise ValueError("polar needs a matrix, or a stack of them.")
    if side not in ("right", "left"):
        raise ValueError("polar: side is 'right' or 'left'.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: method is 'qdwh' or 'svd', got {method}.")
    tall = x.shape[-2] >= x.shape[-1]
    if method == "qdwh" and tall != (side == "right"):
        raise NotImplementedError(
            "method='qdwh' takes matrices with m >= n and side='right', or m < n and side='left'; got "
            f"{x.shape[-2:]} with side={side!r}"
        )

    def by_halley(matrix: Any) -> tuple[Any, Any]:
        matrix = matrix if tall else adjoint(matrix)
        u, p, _, _ = lax_linalg.qdwh(matrix, eps=eps, max_iterations=max_iterations)
        return (u, p) if tall else (adjoint(u), p)

    if method == "qdwh":
        found: tuple[Array, Array] = over_matrices(by_halley, x)
        return found
    left, s, right = lax_linalg.svd(x, full_matrices=False)
    s = s.astype(left.dtype)[..., None, :]
    if side == "right":
        return matmul(left, right), matmul(adjoint(right) * s, right)
    return matmul(left, right), matmul(left * s, adjoint(left))


@overload
def hessenberg(
    a: ArrayLike,
    *,
    calc_q: Literal[False] = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Array: ...


@overload
def hessenberg(
    a: ArrayLike, *, calc_q: Literal[True], overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]: ...


def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Hessenberg form ``h`` of ``a = q h q^H``; with ``calc_q``, ``(h, q)``.

    Shapes:
        a: ``[..., n, n]``.

    Raises:
        TypeError: integers or bools.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import hessenberg
        >>> hessenberg(jnp.eye(2))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    del overwrite_a, check_finite
    x = jnp.asarray(a)
    size = x.shape[-1]
    if not size:
        return (x, x) if calc_q else x
    packed, taus = lax_linalg.hessenberg(x)
    form = jnp.triu(packed, -1)
    if not calc_q:
        return form
    inner = lax_linalg.householder_product(packed[..., 1:, :-1], taus)
    none = [(0, 0)] * (x.ndim - 2)
    corner = jnp.zeros((size, size), x.dtype).at[0, 0].set(1)
    return form, jnp.pad(inner, [*none, (1, 0), (1, 0)]) + corner
