"""Products of Householder reflections H_i = 1 - tau_i v_i v_i^H, the form of QR and Hessenberg factors.

The vectors are the columns of a matrix below its diagonal, with a one on it that is not stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Array, ArrayLike, Primitive, as_array
from plugjax.extend.dtypes import INT32, DType
from plugjax.extend.rules import RuleSet
from plugjax.lax.families import INEXACT, INTEGER
from plugjax.lax.linalg.family import matrix_primitive, no_derivative

rules = RuleSet(__name__)

geqrf_p = Primitive("geqrf", multiple_results=True)
geqp3_p = Primitive("geqp3", multiple_results=True)
householder_product_p = Primitive("householder_product")
ormqr_p = Primitive("ormqr")


def geqrf(a: Any) -> tuple[Any, Any]:
    """QR factors as LAPACK stores them.

    Shapes:
        a: ``[..., m, n]``, floating or complex.

    Returns:
        R in the upper triangle and reflections below it, ``[..., m, n]``; their factors tau, ``[..., min(m, n)]``.
    """
    packed, taus = geqrf_p.bind(as_array(a, "geqrf"))
    return packed, taus


def geqp3(a: Any, jpvt: Any) -> tuple[Any, Any, Any]:
    """QR factors with pivoting: columns are permuted so that the diagonal of R decreases.

    Shapes:
        a: ``[..., m, n]``, floating or complex.
        jpvt: ``[..., n]``, integer: columns where it is not zero come first.

    Returns:
        As :func:`geqrf`, with the columns' numbers, from 1, between.
    """
    packed, order, taus = geqp3_p.bind(as_array(a, "geqp3"), as_array(jpvt, "geqp3"))
    return packed, order, taus


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of the product of reflections.

    Shapes:
        a: ``[..., m, n]`` with m >= n; the vectors of reflections below its diagonal.
        taus: ``[..., k]`` with k <= n -> ``[..., m, n]``, orthonormal columns.

    Raises:
        ValueError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import householder_product
        >>> householder_product(jnp.zeros((2, 1)), jnp.array([2.0])) + 0.0
        Array([[-1.],
               [ 0.]], dtype=float32)
    """
    return householder_product_p.bind(
        as_array(a, "householder_product"), as_array(taus, "householder_product")
    )


def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """``Q c`` or ``c Q`` for the Q of a QR factorization, without making Q.

    Shapes:
        a: ``[..., m, n]``, as :func:`geqrf` gives it.
        taus: ``[..., k]``.
        c: ``[..., m, p]``, or ``[..., p, m]`` if ``left`` is false -> the same.

    Args:
        a: the reflections.
        taus: their factors.
        c: the matrices to multiply.
        left: whether Q stands on the left.
        transpose: whether to use ``Q^H`` in place of Q.

    Raises:
        ValueError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import ormqr
        >>> ormqr(jnp.zeros((2, 2)), jnp.array([2.0, 0.0]), jnp.ones((2, 1)))
        Array([[-1.],
               [ 1.]], dtype=float32)
    """
    operands = [as_array(x, "ormqr") for x in (a, taus, c)]
    return ormqr_p.bind(*operands, left=bool(left), transpose=bool(transpose))


def _geqrf_shapes(shape: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    return [shape, (min(shape),)]


def _geqp3_shapes(shape: tuple[int, ...], jpvt: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    return [shape, jpvt, (min(shape),)]


def _product_shape(a: tuple[int, ...], taus: tuple[int, ...]) -> Sequence[tuple[int, ...]]:
    if a[0] < a[1]:
        raise ValueError(
            f"householder_product needs matrices with no more columns than rows, got shape {a}."
        )
    if taus[0] > min(a):
        raise ValueError(
            f"householder_product needs no more taus than columns, got {taus[0]} for shape {a}."
        )
    return [a]


def _ormqr_shape(
    a: tuple[int, ...], taus: tuple[int, ...], c: tuple[int, ...], *, left: bool, transpose: bool
) -> Sequence[tuple[int, ...]]:
    which = 0 if left else 1
    if c[which] != a[0]:
        raise ValueError(
            f"ormqr with left={left} needs c with {a[0]} {('rows', 'columns')[which]}, as many as the Householder "
            f"matrix has rows: a has shape {a}, c {c}."
        )
    return [c]


def _geqp3_dtypes(dtype: DType) -> Sequence[DType]:
    return [dtype, INT32, dtype]


matrix_primitive(rules, geqrf_p, (2,), _geqrf_shapes)
matrix_primitive(
    rules, geqp3_p, (2, 1), _geqp3_shapes, dtypes=_geqp3_dtypes, accepts=(INEXACT, INTEGER)
)
matrix_primitive(rules, householder_product_p, (2, 1), _product_shape)
matrix_primitive(rules, ormqr_p, (2, 1, 2), _ormqr_shape)
no_derivative(rules, geqrf_p, geqp3_p, householder_product_p, ormqr_p)
