"""Condition number of matrices."""

from __future__ import annotations

import numpy as np

from plugjax.extend.core import Array
from plugjax.numpy.linalg.factorizations import svdvals
from plugjax.numpy.linalg.norms import Order, norm
from plugjax.numpy.linalg.systems import inv
from plugjax.numpy.logic import isnan
from plugjax.numpy.promotion import ArrayLike, as_operand
from plugjax.numpy.reductions import any as any_
from plugjax.numpy.selection import where


def cond(x: ArrayLike, p: Order = None) -> Array:
    """Condition number of matrices.

    Shapes:
        x: ``[..., m, n]``, square unless p is ``None``, 2 or -2 -> ``[...]``.

    Args:
        x: the matrices.
        p: order of the norm; ``None`` and 2 are the ratio of the largest and the least singular value.

    Raises:
        ValueError: not a matrix, an empty or, for other orders, not a square one.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.cond(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
        Array(2., dtype=float32)
    """
    value = as_operand("linalg.cond", x)
    if value.ndim < 2:
        raise ValueError(f"linalg.cond takes matrices, two axes or more, got shape {value.shape}")
    if 0 in value.shape[-2:]:
        raise ValueError(
            f"linalg.cond: empty matrices have no condition number, got shape {value.shape}"
        )
    if p is None or p == 2:
        s = svdvals(value)
        ratio: Array = s[..., 0] / s[..., -1]
        return ratio
    if p == -2:
        s = svdvals(value)
        found = s[..., -1] / s[..., 0]
    else:
        if value.shape[-2] != value.shape[-1]:
            raise ValueError(f"linalg.cond: p={p!r} needs square matrices, got shape {value.shape}")
        found = norm(value, p, (-2, -1)) * norm(inv(value), p, (-2, -1))
    singular = isnan(found) & ~any_(isnan(value), axis=(-2, -1))
    result: Array = where(singular, np.inf, found)
    return result
