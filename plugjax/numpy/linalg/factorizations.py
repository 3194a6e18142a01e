"""Cholesky, QR and singular value factors, eigenvalues and eigenvectors."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.lax.linalg.cholesky import cholesky as lax_cholesky
from plugjax.lax.linalg.eig import eig as lax_eig
from plugjax.lax.linalg.eigh import eigh as lax_eigh
from plugjax.lax.linalg.householder import geqrf
from plugjax.lax.linalg.qr import qr as lax_qr
from plugjax.lax.linalg.svd import svd as lax_svd
from plugjax.numpy.indexing import take_along_axis
from plugjax.numpy.linalg.operands import adjoint, inexact
from plugjax.numpy.manipulation import matrix_transpose
from plugjax.numpy.promotion import ArrayLike


class EighResult(NamedTuple):
    """Result of :func:`eigh`."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """Result of :func:`eig`."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """QR factors."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """Singular values and vectors."""

    U: Array
    S: Array
    Vh: Array


def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Triangular ``L`` with ``L L^H = a``, or ``U`` with ``U^H U = a``; nan if ``a`` is not positive definite.

    Shapes:
        a: ``[..., n, n]``, Hermitian -> the same.

    Args:
        a: the matrices.
        upper: whether to return the upper factor.
        symmetrize_input: whether to take the Hermitian part of ``a`` first; otherwise its lower triangle alone is read.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        Array([[2., 0.],
               [1., 2.]], dtype=float32)
    """
    (x,) = inexact("linalg.cholesky", a)
    factor: Array = lax_cholesky(x, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """QR factors.

    Shapes:
        a: ``[..., m, n]``; k = min(m, n).

    Args:
        a: the matrices.
        mode: ``"reduced"`` (or ``"full"``, as in JAX) for Q ``[..., m, k]`` and R ``[..., k, n]``; ``"complete"`` for Q
            ``[..., m, m]`` and R ``[..., m, n]``; ``"r"`` for R alone; ``"raw"`` for reflections, as in NumPy.

    Raises:
        ValueError: another mode.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.abs(jnp.linalg.qr(jnp.array([[3.0], [4.0]])).R)
        Array([[5.]], dtype=float32)
    """
    (x,) = inexact("linalg.qr", a)
    if mode == "raw":
        packed, taus = geqrf(x)
        return QRResult(matrix_transpose(packed), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(
            f"linalg.qr knows mode 'reduced', 'complete', 'r' and 'raw', got '{mode}'."
        )
    q, r = lax_qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Singular values in descending order, and singular vectors.

    Shapes:
        a: ``[..., m, n]``; k = min(m, n).

    Args:
        a: the matrices.
        full_matrices: whether U is ``[..., m, m]`` and Vh ``[..., n, n]``, instead of ``[..., m, k]`` and ``[..., k,
            n]``.
        compute_uv: whether to return the vectors.
        hermitian: whether the matrices are Hermitian, which is faster.
        subset_by_index: only all singular values are supported.

    Returns:
        ``(U, S, Vh)``, or S alone.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.svd(jnp.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False)
        Array([4., 3.], dtype=float32)
    """
    (x,) = inexact("linalg.svd", a)
    if hermitian:
        return _hermitian_svd(x, compute_uv, subset_by_index)
    found = lax_svd(
        x, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )
    return SVDResult(*found) if compute_uv else found


def _hermitian_svd(x: Array, compute_uv: bool, subset: tuple[int, int] | None) -> Any:
    """Singular values are the absolute values of eigenvalues; the signs go to the right vectors."""
    vectors, values = lax_eigh(x, subset_by_index=subset)
    last = values.ndim - 1
    if not compute_uv:
        return lax.rev(lax.sort(lax.abs(values)), (last,))
    places = lax.broadcasted_iota(np.int32, values.shape, last)
    keys = (lax.abs(values), places, lax.sign(values))
    sizes, places, signs = (lax.rev(y, (last,)) for y in lax.sort(keys, num_keys=1))
    left = take_along_axis(vectors, lax.expand_dims(places, (last,)), axis=-1)
    signs = lax.expand_dims(signs, (last,)).astype(left.dtype)
    return SVDResult(left, sizes, adjoint(left * signs))


def svdvals(x: ArrayLike, /) -> Array:
    """Singular values in descending order, ``[..., m, n]`` -> ``[..., min(m, n)]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
        Array([4., 3.], dtype=float32)
    """
    found: Array = svd(x, compute_uv=False)
    return found


def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues of Hermitian matrices in ascending order, and eigenvectors as columns.

    Shapes:
        a: ``[..., n, n]`` -> eigenvalues ``[..., n]``, eigenvectors ``[..., n, n]``.

    Args:
        a: the matrices.
        UPLO: ``"L"`` (as ``None``) or ``"U"``: the triangle that is read without ``symmetrize_input``.
        symmetrize_input: whether to take the Hermitian part of ``a`` first.

    Raises:
        ValueError: another ``UPLO``, or matrices that are not square.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]])).eigenvalues.round(3)
        Array([1., 3.], dtype=float32)
    """
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"linalg.eigh: UPLO is 'L' (as None) or 'U', got {UPLO}")
    (x,) = inexact("linalg.eigh", a)
    vectors, values = lax_eigh(x, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Eigenvalues of Hermitian matrices in ascending order; see :func:`eigh`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.eigvalsh(jnp.array([[2.0, 0.0], [0.0, 3.0]]))
        Array([2., 3.], dtype=float32)
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues of matrices, in no order, and eigenvectors as columns; both complex.

    Shapes:
        a: ``[..., n, n]`` -> eigenvalues ``[..., n]``, eigenvectors ``[..., n, n]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
        Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    values, vectors = lax_eig(*inexact("linalg.eig", a), compute_left_eigenvectors=False)
    return EigResult(values, vectors)


def eigvals(a: ArrayLike) -> Array:
    """Eigenvalues of matrices, in no order, complex; see :func:`eig`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.eigvals(jnp.array([[2.0, 0.0], [0.0, 3.0]]))
        Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    found: Array = lax_eig(
        *inexact("linalg.eigvals", a),
        compute_left_eigenvectors=False,
        compute_right_eigenvectors=False,
    )[0]
    return found
