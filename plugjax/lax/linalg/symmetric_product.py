"""Products of a matrix and its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import Array, ArrayLike, Primitive, as_array
from plugjax.extend.rules import RuleSet
from plugjax.lax.arithmetic import add
from plugjax.lax.families import FLOAT
from plugjax.lax.linalg.family import matrix_primitive, no_derivative
from plugjax.lax.linalg.matrices import transposed, tril

rules = RuleSet(__name__)

symmetric_product_p = Primitive("symmetric_product")


def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """``alpha A A^T + beta C``, of which only the lower triangle is specified.

    Shapes:
        a_matrix: ``[..., m, n]``, floating.
        c_matrix: ``[..., m, m]``, symmetric -> the same.

    Args:
        a_matrix: A.
        c_matrix: C.
        alpha: a number.
        beta: a number.
        symmetrize_output: whether to copy the lower triangle to the upper one.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.lax.linalg import symmetric_product
        >>> symmetric_product(jnp.array([[1.0], [2.0]]), jnp.zeros((2, 2)))
        Array([[1., 2.],
               [2., 4.]], dtype=float32)
    """
    result = symmetric_product_p.bind(
        as_array(a_matrix, "symmetric_product"),
        as_array(c_matrix, "symmetric_product"),
        alpha=float(as_array(alpha, "symmetric_product")),
        beta=float(as_array(beta, "symmetric_product")),
    )
    if symmetrize_output:
        return add(tril(result), transposed(tril(result, -1)))
    return result


def _shape(a: tuple[int, ...], c: tuple[int, ...], **_: Any) -> Sequence[tuple[int, ...]]:
    if a[0] != c[1] or c[0] != c[1]:
        raise ValueError(f"symmetric_product needs a [m, n] and c [m, m], got shapes {a} and {c}.")
    return [c]


matrix_primitive(rules, symmetric_product_p, (2, 2), _shape, accepts=(FLOAT, FLOAT))
no_derivative(rules, symmetric_product_p)
