"""Functions of matrices, and Sylvester's equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.transforms import jvp
from plugjax.lax.linalg.matrices import adjoint, identity, matmul
from plugjax.lax.linalg.solve import solve as lax_solve
from plugjax.lax.linalg.triangular_solve import triangular_solve
from plugjax.numpy.linalg import eig, eigvals, norm
from plugjax.numpy.linalg.operands import inexact
from plugjax.numpy.promotion import ArrayLike
from plugjax.scipy.linalg.eigen import rsf2csf, schur
from plugjax.scipy.linalg.mapped import over_matrices

# Coefficients of the Pade approximants of exp, and the norm up to which each is accurate in the
# dtype. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005, table
# 2.3 and section 2.
_PADE7 = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)
_PADE13 = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0, 10559470521600.0,
    670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_SINGLE, _DOUBLE = (_PADE7, 3.925724783138660), (_PADE13, 5.371920351148152)


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Exponential of matrices, by scaling, a Pade approximant, and squaring.

    Shapes:
        A: ``[..., n, n]`` -> the same.

    Args:
        A: the matrices.
        upper_triangular: whether they are upper triangular, which is faster.
        max_squarings: a matrix that needs more squarings gives nan.

    Raises:
        ValueError: matrices that are not square.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import expm
        >>> expm(jnp.zeros((2, 2)))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    (x,) = inexact("scipy.linalg.expm", A)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"expm needs square matrices, got shape {x.shape}.")
    if x.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise TypeError(f"expm takes single and double precision, got {x.dtype}.")
    found: Array = over_matrices(lambda a: _expm(a, upper_triangular, max_squarings), x)
    return found


def _expm(x: Any, upper_triangular: bool, max_squarings: int) -> Any:
    coefficients, bound = _DOUBLE if x.dtype.name in ("float64", "complex128") else _SINGLE
    size = lax.stop_gradient(norm(x, 1))
    squarings = jnp.maximum(0, jnp.ceil(jnp.log2(size / bound)))
    x = x / (2**squarings).astype(x.dtype)
    even, odd = _pade(x, coefficients)
    below, above = even - odd, even + odd
    power = (
        triangular_solve(below, above, left_side=True)
        if upper_triangular
        else lax_solve(below, above)
    )

    def square(power: Any, i: Any) -> tuple[Any, None]:
        again = i < squarings
        return lax.cond(again, lambda p: matmul(p, p), lambda p: p, power), None

    steps = jnp.arange(max_squarings + 1, dtype=squarings.dtype)
    power, _ = lax.scan(square, power, steps)
    return jnp.where(squarings > max_squarings + 1, np.nan, power)


def _pade(x: Any, coefficients: tuple[float, ...]) -> tuple[Any, Any]:
    """Even and odd part of the numerator."""
    one = identity(x.dtype, x.shape[0])
    square = matmul(x, x)
    even, odd, power = coefficients[0] * one, coefficients[1] * one, one
    for a, b in zip(coefficients[2::2], coefficients[3::2], strict=True):
        power = matmul(power, square)
        even, odd = even + a * power, odd + b * power
    return even, matmul(x, odd)


def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """``expm(A)`` and its derivative in the direction ``E``, or the latter alone.

    Shapes:
        A: ``[..., n, n]``.
        E: ``[..., n, n]`` -> the same.

    Raises:
        ValueError: shapes that are not square, or differ.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import expm_frechet
        >>> expm_frechet(jnp.zeros((2, 2)), jnp.eye(2), compute_expm=False)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    del method
    a, e = jnp.asarray(A), jnp.asarray(E)
    for name, x in (("A", a), ("E", e)):
        if x.ndim < 2 or x.shape[-2] != x.shape[-1]:
            raise ValueError(f"expm_frechet: {name} needs square matrices, got shape {x.shape}.")
    if a.shape != e.shape:
        raise ValueError(f"expm_frechet: A and E need one shape, got {a.shape} and {e.shape}.")
    value, derivative = jvp(expm, (a,), (e,))
    return (value, derivative) if compute_expm else derivative


def _by_superdiagonals(start: Any, element: Callable[[Any], Any]) -> Any:
    """An upper triangular matrix, superdiagonal by superdiagonal: each follows from those before it.

    Args:
        start: its diagonal, zeros elsewhere.
        element: from the matrix so far to the elements of the next superdiagonal, in their positions.
    """
    size = start.shape[0]
    rows = lax.broadcasted_iota(np.int32, (size, size), 0)
    distance = lax.broadcasted_iota(np.int32, (size, size), 1) - rows

    def step(d: Any, known: Any) -> Any:
        return jnp.where(distance == d, element(known), known)

    return lax.fori_loop(1, size, step, start)


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Principal square root of a matrix, complex.

    Shapes:
        A: ``[n, n]`` -> the same.

    Raises:
        NotImplementedError: ``blocksize`` above 1.

    Reference:
        Bjorck, Hammarling, "A Schur method for the square root of a matrix", 1983.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import sqrtm
        >>> sqrtm(4.0 * jnp.eye(2))
        Array([[2.+0.j, 0.+0.j],
               [0.+0.j, 2.+0.j]], dtype=complex64)
    """
    if blocksize > 1:
        raise NotImplementedError("sqrtm works without blocks. Leave blocksize 1.")
    form, vectors = schur(A, output="complex")
    roots = jnp.sqrt(jnp.diag(form))
    sums = roots[:, None] + roots[None, :]

    def element(known: Any) -> Any:
        above = jnp.triu(known, 1)
        rest = form - matmul(above, above)
        return jnp.where(rest == 0, 0, rest / jnp.where(sums == 0, 1, sums))

    root = _by_superdiagonals(jnp.diag(roots), element)
    result: Array = matmul(matmul(vectors, root), adjoint(vectors))
    return result


def funm(A: ArrayLike, func: Callable[[Array], Array], disp: bool = True) -> Any:
    """A function of a matrix, complex, from its values on eigenvalues.

    Shapes:
        A: ``[n, n]`` -> the same.

    Args:
        A: the matrix.
        func: function of the vector of eigenvalues.
        disp: whether to return the matrix alone; otherwise an estimate of the error is returned too.

    Raises:
        ValueError: a matrix that is not square.

    Reference:
        Parlett, "A recurrence among the elements of functions of triangular matrices", 1976.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import funm
        >>> jnp.real(funm(jnp.diag(jnp.array([1.0, 4.0])), jnp.sqrt)).round(3)
        Array([[1., 0.],
               [0., 2.]], dtype=float32)
    """
    x = jnp.asarray(A)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError("funm needs one square matrix.")
    form, vectors = rsf2csf(*schur(x))
    values = jnp.diag(form)
    images = jnp.asarray(func(values)).astype(form.dtype)
    gaps = values[None, :] - values[:, None]
    strict = jnp.triu(form, 1)
    slopes = strict * (images[None, :] - images[:, None])

    def element(known: Any) -> Any:
        above = jnp.triu(known, 1)
        total = slopes + matmul(strict, above) - matmul(above, strict)
        return jnp.where(gaps != 0, total / jnp.where(gaps != 0, gaps, 1), total)

    found = _by_superdiagonals(jnp.diag(images), element)
    found = matmul(matmul(vectors, found), adjoint(vectors))
    if disp:
        return found
    tolerance = float(np.finfo(form.dtype).eps)
    outside = jnp.triu(jnp.ones(form.shape, bool), 1)
    least = jnp.minimum(jnp.abs(form[0, 0]), jnp.min(jnp.where(outside, jnp.abs(gaps), np.inf)))
    least = jnp.where(least == 0.0, tolerance, least)
    bound = jnp.maximum(tolerance, tolerance / least * norm(strict, 1))
    return found, jnp.where(jnp.any(jnp.isinf(found)), np.inf, jnp.minimum(1, bound))


def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """The solution of ``A X + X B = C``; nan if there is none.

    Shapes:
        A: ``[..., m, m]``.
        B: ``[..., n, n]``.
        C: ``[..., m, n]`` -> the same.

    Args:
        A: left matrices.
        B: right matrices.
        C: right-hand sides.
        method: ``"schur"``, or ``"eigen"`` for diagonalizable matrices.
        tol: sums of eigenvalues of A and B below this count as zero.

    Raises:
        ValueError: shapes that do not fit, or another method.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import solve_sylvester
        >>> solve_sylvester(jnp.eye(2), jnp.eye(2), 2.0 * jnp.ones((2, 2))).round(3)
        Array([[1., 1.],
               [1., 1.]], dtype=float32)
    """
    a, b, c = inexact("scipy.linalg.solve_sylvester", *(jnp.asarray(x) for x in (A, B, C)))
    rows, columns = c.shape[-2:]
    if a.shape[-2:] != (rows, rows) or b.shape[-2:] != (columns, columns):
        raise ValueError(
            f"solve_sylvester: A and B do not fit the rows and columns of C:\nA: {a.shape}\nB: {b.shape}\nC: {c.shape}"
        )
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester: method is 'schur' or 'eigen', got {method}.")
    batch = jnp.broadcast_shapes(*(x.shape[:-2] for x in (a, b, c)))
    a, b, c = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b, c))
    found = over_matrices(_sylvester if method == "schur" else _sylvester_by_eigenvectors, a, b, c)
    found = found if c.dtype.kind == "c" else jnp.real(found)
    sums = eigvals(a)[..., :, None] + eigvals(b)[..., None, :]
    singular = jnp.any(jnp.abs(sums) < tol, axis=(-2, -1), keepdims=True)
    result: Array = jnp.where(singular, np.nan, found)
    return result


def _sylvester(a: Any, b: Any, c: Any) -> Any:
    """With Schur forms R of A and S of B^H: ``R Y + Y S^H = F``, column by column from the last."""
    left, u = schur(a, output="complex")
    right, v = schur(adjoint(b), output="complex")
    given = matmul(matmul(adjoint(u), c.astype(left.dtype)), v)
    lower = adjoint(right)
    one = identity(left.dtype, left.shape[0])
    count = given.shape[1]

    def step(i: Any, y: Any) -> Any:
        j = count - 1 - i
        line = lax.dynamic_slice_in_dim(lower, j, 1, axis=1)
        rest = lax.dynamic_slice_in_dim(given, j, 1, axis=1) - matmul(y, line)
        shift = lax.dynamic_slice_in_dim(line, j, 1, axis=0)
        found = triangular_solve(left + shift * one, rest, left_side=True)
        return lax.dynamic_update_slice_in_dim(y, found, j, axis=1)

    y = lax.fori_loop(0, count, step, jnp.zeros_like(given))
    return matmul(matmul(u, y), adjoint(v))


def _sylvester_by_eigenvectors(a: Any, b: Any, c: Any) -> Any:
    (values, u), (others, v) = eig(a), eig(b)
    given = lax_solve(u, matmul(c.astype(u.dtype), v))
    y = given / (values[:, None] + others[None, :])
    # y v^-1 is the transpose of v^-T y^T.
    return jnp.transpose(lax_solve(v.T, matmul(u, y).T))
