"""Eigenvalues and Schur forms."""

from __future__ import annotations

from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.core import Array, aval_of
from plugjax.extend.errors import SizeError
from plugjax.lax import linalg as lax_linalg
from plugjax.lax.linalg.matrices import complex_dtype
from plugjax.numpy.linalg.operands import inexact
from plugjax.numpy.promotion import ArrayLike, as_operand
from plugjax.scipy.linalg.mapped import over_matrices


def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues of Hermitian matrices in ascending order, and eigenvectors as columns.

    Shapes:
        a: ``[..., n, n]``, of which the Hermitian part is taken.

    Args:
        a: the matrices.
        b: must be ``None``.
        lower: has no effect, as in JAX.
        eigvals_only: whether to return the eigenvalues alone.
        overwrite_a: has no effect.
        overwrite_b: has no effect.
        turbo: has no effect.
        eigvals: must be ``None``.
        type: must be 1.
        check_finite: has no effect.

    Raises:
        NotImplementedError: ``b``, ``eigvals`` or another ``type``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import eigh
        >>> eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True)
        Array([1., 2.], dtype=float32)
    """
    del overwrite_a, overwrite_b, turbo, check_finite
    if b is not None:
        as_operand("scipy.linalg.eigh", b)
        raise NotImplementedError("scipy.linalg.eigh: b is not implemented. Leave it None.")
    if type != 1:
        raise NotImplementedError("scipy.linalg.eigh: type is not implemented. Leave it 1.")
    if eigvals is not None:
        raise NotImplementedError("scipy.linalg.eigh: eigvals is not implemented. Leave it None.")
    (x,) = inexact("scipy.linalg.eigh", jnp.asarray(a))
    vectors, values = lax_linalg.eigh(x, lower=lower)
    return values if eigvals_only else (values, vectors)


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Eigenvalues of a Hermitian tridiagonal matrix in ascending order, and eigenvectors as columns.

    Shapes:
        d: ``[n]``, the diagonal.
        e: ``[n - 1]``, above the diagonal; its conjugate stands below.

    Args:
        d: floating or complex.
        e: of the same dtype.
        eigvals_only: whether to return the eigenvalues alone.
        select: ``"a"`` for all, ``"i"`` for those with the numbers in ``select_range``, both ends included.
        select_range: two numbers.
        tol: has no effect: the result is as accurate as the dtype allows.
        key: has no effect: no random numbers are needed.

    Raises:
        TypeError: dtypes differ, or are not floating or complex.
        ValueError: another ``select``, or a bad ``select_range``.
        NotImplementedError: ``select="v"``.

    Differs from JAX:
        The dense matrix is solved as any Hermitian matrix, in O(n^3); the result can be differentiated.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import eigh_tridiagonal
        >>> eigh_tridiagonal(jnp.array([2.0, 2.0]), jnp.array([1.0]), eigvals_only=True).round(3)
        Array([1., 3.], dtype=float32)
    """
    for name, option in (("tol", tol), ("key", key)):
        if option is not None:
            aval_of(option, f"eigh_tridiagonal: {name}")
    del tol, key
    alpha, beta = jnp.asarray(d), jnp.asarray(e)
    if alpha.dtype != beta.dtype:
        raise TypeError(
            f"eigh_tridiagonal: d and e need one dtype, got {alpha.dtype} and {beta.dtype}."
        )
    if alpha.ndim != 1 or beta.shape != (alpha.shape[0] - 1,):
        raise SizeError(
            f"eigh_tridiagonal: d is a vector and e one shorter, got shapes {alpha.shape} and {beta.shape}."
        )
    if alpha.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise TypeError(f"eigh_tridiagonal needs a floating or complex dtype, got {alpha.dtype}.")
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal: select='v' is missing. Use 'a' or 'i'.")
    if select not in ("a", "i"):
        raise ValueError("eigh_tridiagonal: select is 'a' or 'i'.")
    first, last = 0, alpha.shape[0]
    if select == "i":
        if select_range is None:
            raise ValueError("eigh_tridiagonal: select='i' needs a select_range.")
        if select_range[0] > select_range[1]:
            raise ValueError("eigh_tridiagonal: the select_range holds no index.")
        first, last = int(select_range[0]), int(select_range[1]) + 1
    above = jnp.diag(beta, 1)
    matrix = above + jnp.conj(above).T + jnp.diag(jnp.real(alpha).astype(alpha.dtype))
    vectors, values = lax_linalg.eigh(matrix, symmetrize_input=False)
    values = values[first:last]
    return values if eigvals_only else (values, vectors[:, first:last])


def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """``(T, Z)`` with ``a = Z T Z^H``, Z unitary and T upper triangular.

    Shapes:
        a: ``[..., n, n]``.

    Args:
        a: the matrices.
        output: ``"complex"``, or ``"real"``, where T of a real matrix is real and has blocks of 2 on its diagonal for
            pairs of complex eigenvalues.

    Raises:
        ValueError: another ``output``.
        TypeError: integers or bools with ``output="real"``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import schur
        >>> jnp.diagonal(schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0])
        Array([1., 3.], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: output is 'real' or 'complex', got {output!r}.")
    x = jnp.asarray(a)
    if output == "complex":
        x = x.astype(complex_dtype(x.dtype))
    form, vectors = lax_linalg.schur(x)
    return form, vectors


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """A real Schur form made complex: T becomes upper triangular.

    Shapes:
        T: ``[..., n, n]``.
        Z: ``[..., n, n]`` -> the same, complex.

    Raises:
        ValueError: shapes that are not square, or differ.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import rsf2csf, schur
        >>> t, z = rsf2csf(*schur(jnp.array([[0.0, 1.0], [-1.0, 0.0]])))
        >>> jnp.abs(jnp.diagonal(t)).round(3)
        Array([1., 1.], dtype=float32)
    """
    del check_finite
    form, vectors = inexact("scipy.linalg.rsf2csf", jnp.asarray(T), jnp.asarray(Z))
    for name, x in (("T", form), ("Z", vectors)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"rsf2csf: {name} needs to be square.")
    if form.shape[-1] != vectors.shape[-1]:
        raise ValueError(
            f"rsf2csf: Z and T need one size, got shapes {vectors.shape} and {form.shape}."
        )
    batch = jnp.broadcast_shapes(form.shape[:-2], vectors.shape[:-2])
    dtype = complex_dtype(form.dtype)
    operands = [jnp.broadcast_to(x, (*batch, *x.shape[-2:])).astype(dtype) for x in (form, vectors)]
    found: tuple[Array, Array] = over_matrices(_triangular, *operands)
    return found


def _triangular(form: Any, vectors: Any) -> tuple[Any, Any]:
    """Make the blocks of 2 triangular, from the last, by rotations of two rows and columns."""
    size = form.shape[0]
    if size < 2:
        return form, vectors
    eps = float(np.finfo(form.dtype).eps)
    rows = lax.broadcasted_iota(np.int32, (size, 1), 0)

    def step(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        t, z = state
        m = size - i
        block = lax.dynamic_slice(t, (m - 1, m - 1), (2, 2))
        a, b, c, d = block[0, 0], block[0, 1], block[1, 0], block[1, 1]
        present = jnp.abs(c) > eps * (jnp.abs(a) + jnp.abs(d))
        # An eigenvalue of the block, relative to its last element.
        half = (a - d) / 2
        mu = half + jnp.sqrt(half * half + b * c)
        length = jnp.sqrt(jnp.abs(mu) ** 2 + jnp.abs(c) ** 2)
        length = jnp.where(present, length, 1).astype(t.dtype)
        cosine, sine = jnp.where(present, mu / length, 1), jnp.where(present, c / length, 0)
        turn = jnp.stack([jnp.conj(cosine), sine, -sine, cosine]).reshape(2, 2)
        back = jnp.conj(turn).T
        t = lax.dynamic_update_slice(
            t, turn @ lax.dynamic_slice(t, (m - 1, 0), (2, size)), (m - 1, 0)
        )
        t = lax.dynamic_update_slice(
            t, lax.dynamic_slice(t, (0, m - 1), (size, 2)) @ back, (0, m - 1)
        )
        z = lax.dynamic_update_slice(
            z, lax.dynamic_slice(z, (0, m - 1), (size, 2)) @ back, (0, m - 1)
        )
        at = (rows == m) & (m - 1 == rows.T)
        return jnp.where(at, 0, t), z

    result: tuple[Any, Any] = lax.fori_loop(1, size, step, (form, vectors))
    return result
