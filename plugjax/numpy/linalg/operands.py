"""Arguments of linear algebra as arrays of floating or complex dtype."""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.numpy.manipulation import matrix_transpose
from plugjax.numpy.promotion import ArrayLike, Operand, as_operands, convert, join_dtypes


def inexact(who: str, *args: ArrayLike) -> list[Operand]:
    """Arguments as arrays of one floating or complex dtype.

    Raises:
        TypeError: an argument is not an array.
    """
    operands = as_operands(who, *args)
    dtype, weak = join_dtypes(*operands)
    target = dtypes.canonicalize(dtypes.to_inexact(dtype))
    return [convert(x, target, weak) for x in operands]


def adjoint(x: Array) -> Array:
    """Conjugate transpose of the matrices in the last two axes."""
    found: Any = matrix_transpose(x)
    result: Array = lax.conj(found) if found.dtype.kind == "c" else found
    return result


def square_sizes(who: str, x: Array) -> None:
    """Raise unless the last two axes have one size.

    Raises:
        ValueError: the sizes differ, or there are fewer than two axes.
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"Argument to {who} must have shape [..., n, n], as square matrices have, got {x.shape}."
        )
