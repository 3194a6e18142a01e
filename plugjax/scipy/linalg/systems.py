"""Linear systems."""

from __future__ import annotations

import warnings
from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.core import Array
from plugjax.lax import linalg as lax_linalg
from plugjax.lax.linalg.lu import lu_solve as lax_lu_solve
from plugjax.lax.linalg.matrices import matmul, repeated
from plugjax.numpy.linalg import det as numpy_det, inv as numpy_inv, solve as numpy_solve
from plugjax.numpy.linalg.operands import inexact
from plugjax.numpy.promotion import ArrayLike
from plugjax.scipy.linalg.factorizations import cho_factor

_TRANS = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def _operands(who: str, a: ArrayLike, b: ArrayLike) -> tuple[Any, Any, bool]:
    """Matrices and right-hand sides with equal leading axes, and whether the latter are vectors.

    Raises:
        ValueError: shapes do not fit.
    """
    x, y = inexact(f"scipy.linalg.{who}", jnp.asarray(a), jnp.asarray(b))
    vector = y.ndim == 1
    if not vector and x.ndim == y.ndim + 1 and x.shape[-1] == y.shape[-1]:
        warnings.warn(
            f"scipy.linalg.{who} takes b for batched 1D right-hand sides, as it has more than one axis. This is deprecated: "
            f"such a b will mean matrices. Write {who}(a, b[..., None]).squeeze(-1).",
            FutureWarning,
            stacklevel=3,
        )
        vector = True
    y = y[..., None] if vector else y
    if x.ndim < 2 or y.ndim < 2 or not x.shape[-1] == x.shape[-2] == y.shape[-2]:
        raise ValueError(f"{who}: shapes {x.shape} and {jnp.shape(b)} do not fit")
    batch = jnp.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return repeated(x, batch, 2), repeated(y, batch, 2), vector


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solution of ``a x = b`` from the result of :func:`cho_factor` for ``a``.

    Shapes:
        c_and_lower: ``[..., n, n]``, and which triangle it is.
        b: ``[n]`` or ``[..., n, k]`` -> the same.

    Raises:
        ValueError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import cho_factor, cho_solve
        >>> cho_solve(cho_factor(4.0 * jnp.eye(2)), jnp.ones(2))
        Array([0.25, 0.25], dtype=float32)
    """
    del overwrite_b, check_finite
    factor, lower = c_and_lower
    x, y, vector = _operands("cho_solve", factor, b)
    for turned in (not lower, lower):
        y = lax_linalg.triangular_solve(
            x, y, left_side=True, lower=lower, transpose_a=turned, conjugate_a=turned
        )
    result: Array = y[..., 0] if vector else y
    return result


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solution of ``op(a) x = b`` from the result of :func:`lu_factor` for ``a``.

    Shapes:
        lu_and_piv: ``[..., n, n]`` and ``[..., n]``.
        b: ``[n]`` or ``[..., n, k]`` -> the same.

    Args:
        lu_and_piv: factors and row exchanges.
        b: right-hand sides.
        trans: 0 for ``a``, 1 for its transpose, 2 for its adjoint.
        overwrite_b: has no effect.
        check_finite: has no effect.

    Raises:
        ValueError: shapes do not fit, or another ``trans``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import lu_factor, lu_solve
        >>> lu_solve(lu_factor(4.0 * jnp.eye(2)), jnp.ones(2))
        Array([0.25, 0.25], dtype=float32)
    """
    del overwrite_b, check_finite
    factors, pivots = lu_and_piv
    x, y, vector = _operands("lu_solve", factors, b)
    order = lax_linalg.lu_pivots_to_permutation(pivots, x.shape[-1])
    found: Array = lax_lu_solve(x, order, y, trans)
    return found[..., 0] if vector else found


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """The solution of ``op(a) x = b`` with a triangular ``a``.

    Shapes:
        a: ``[..., n, n]``.
        b: ``[n]`` or ``[..., n, k]`` -> the same.

    Args:
        a: the matrices.
        b: right-hand sides.
        trans: 0 or ``"N"`` for ``a``, 1 or ``"T"`` for its transpose, 2 or ``"C"`` for its adjoint.
        lower: which triangle is read.
        unit_diagonal: whether the diagonal counts as ones.
        overwrite_b: has no effect.
        debug: has no effect.
        check_finite: has no effect.

    Raises:
        ValueError: shapes do not fit, or another ``trans``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import solve_triangular
        >>> solve_triangular(jnp.array([[2.0, 0.0], [1.0, 1.0]]), jnp.array([4.0, 3.0]), lower=True)
        Array([2., 1.], dtype=float32)
    """
    del overwrite_b, debug, check_finite
    if trans not in _TRANS:
        raise ValueError(
            f"solve_triangular: trans is one of {', '.join(map(repr, _TRANS))}, got {trans}."
        )
    op = _TRANS[trans]
    x, y, vector = _operands("solve_triangular", a, b)
    found: Array = lax_linalg.triangular_solve(
        x,
        y,
        left_side=True,
        lower=lower,
        transpose_a=op > 0,
        conjugate_a=op == 2,
        unit_diagonal=unit_diagonal,
    )
    return found[..., 0] if vector else found


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The solution of ``a x = b``.

    Shapes:
        a: ``[..., n, n]``.
        b: ``[n]`` or ``[..., n, k]`` -> the same.

    Args:
        a: the matrices.
        b: right-hand sides.
        lower: with ``assume_a="pos"``, which triangle is read.
        overwrite_a: has no effect.
        overwrite_b: has no effect.
        debug: has no effect.
        check_finite: has no effect.
        assume_a: ``"pos"`` for positive definite matrices, which are solved by Cholesky factors; ``"gen"``, ``"sym"`` and
            ``"her"`` mean the same.

    Raises:
        ValueError: shapes do not fit, or another ``assume_a``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.linalg import solve
        >>> solve(4.0 * jnp.eye(2), jnp.ones(2), assume_a="pos")
        Array([0.25, 0.25], dtype=float32)
    """
    del overwrite_a, overwrite_b, debug, check_finite
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"solve: assume_a is 'gen', 'sym', 'her' or 'pos', got {assume_a!r}.")
    if assume_a != "pos":
        return numpy_solve(jnp.asarray(a), jnp.asarray(b))
    x, y, vector = _operands("solve", a, b)
    factor = cho_factor(lax.stop_gradient(x), lower=lower)
    found: Array = lax.custom_linear_solve(
        lambda v: matmul(x, v), y, lambda _, v: cho_solve(factor, v), symmetric=True
    )
    return found[..., 0] if vector else found


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Inverse; see :func:`plugjax.numpy.linalg.inv`.

    Example:
        >>> from plugjax.scipy import linalg
        >>> import plugjax.numpy as jnp
        >>> linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
        Array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """
    del overwrite_a, check_finite
    return numpy_inv(a)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Determinant; see :func:`plugjax.numpy.linalg.det`.

    Example:
        >>> from plugjax.scipy import linalg
        >>> import plugjax.numpy as jnp
        >>> linalg.det(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
        Array(12., dtype=float32)
    """
    del overwrite_a, check_finite
    return numpy_det(a)
