"""NumPy's universal functions with methods: arithmetic and logic that can also reduce, accumulate and apply at indices.

An associative operation with a reduction (``add``: ``sum``) reduces by it; others fold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import BOOL, DTypeLike
from plugjax.numpy import arithmetic, bitwise, cumulative, exponential, logic, reductions, selection
from plugjax.numpy.manipulation import expand_dims
from plugjax.numpy.promotion import Operand, as_operand, canonical_dtype, converted
from plugjax.numpy.reductions import reduced_axes
from plugjax.numpy.ufuncs import ufunc

__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "multiply", "negative", "subtract",
]  # fmt: skip


def _of(
    function: Callable[..., Any], identity: Any = None, nin: int = 2, **methods: Any
) -> ufunc[Array]:
    return ufunc(function, nin, 1, identity=identity, call=function, **methods)


def _without_dtype(reduction: Callable[..., Array]) -> Callable[..., Array]:
    """A reduction without ``dtype``, as one with the parameter ``dtype``."""

    def reduce(x: Operand, *, dtype: DTypeLike | None, **options: Any) -> Array:
        return reduction(x if dtype is None else x.astype(dtype), **options)

    return reduce


def _at(method: str) -> Callable[..., Array]:
    """The method of ``x.at[indices]``; bools become integers."""

    def at(x: Operand, indices: Any, b: Any) -> Array:
        found: Array
        if x.dtype == BOOL:
            number = converted(converted(as_operand(method, b), BOOL), np.dtype(np.int32))
            found = getattr(converted(x, np.dtype(np.int32)).at[indices], method)(number)
            return converted(found, BOOL)
        found = getattr(x.at[indices], method)(b)
        return found

    return at


def _bitwise(
    reduce: Callable[..., Array],
    combine: Callable[..., Array],
    neutral: int,
    *,
    logical: bool = False,
) -> Callable[..., Array]:
    """A reduction of bits; ``logical`` uses truth values of numbers and returns bools by default."""

    def run(
        x: Operand,
        *,
        axis: Any,
        dtype: DTypeLike | None,
        keepdims: bool,
        initial: Any,
        where: Operand | None,
    ) -> Array:
        wanted = canonical_dtype("reduce", dtype) if dtype is not None else None
        x = converted(x, BOOL if logical else wanted or x.dtype)
        if dtypes.kind_of(x.dtype) not in "biu":
            raise ValueError(
                f"reduce: integers or bools have bits to combine, got dtype {x.dtype}."
            )
        axes = reduced_axes(axis, x.ndim)
        if where is not None:
            x = selection.where(where, x, lax.full_like(x, neutral))
        found = reduce(x, axes)
        if initial is not None:
            found = combine(converted(as_operand("reduce", initial), x.dtype), found)
        if keepdims:
            found = expand_dims(found, axes)
        return converted(found, wanted) if wanted is not None else found

    return run


add = _of(arithmetic.add, 0, reduce=reductions.sum, accumulate=cumulative.cumsum, at=_at("add"))
multiply = _of(
    arithmetic.multiply,
    1,
    reduce=reductions.prod,
    accumulate=cumulative.cumprod,
    at=_at("multiply"),
)
subtract = _of(arithmetic.subtract, at=lambda x, i, b: x.at[i].subtract(b))
maximum = _of(arithmetic.maximum, reduce=_without_dtype(reductions.max))
minimum = _of(arithmetic.minimum, reduce=_without_dtype(reductions.min))
negative = _of(arithmetic.negative, nin=1)
logical_and = _of(
    logic.logical_and, True, reduce=_bitwise(lax.reduce_and, lax.bitwise_and, 1, logical=True)
)
logical_or = _of(
    logic.logical_or, False, reduce=_bitwise(lax.reduce_or, lax.bitwise_or, 0, logical=True)
)
logical_xor = _of(
    logic.logical_xor, False, reduce=_bitwise(lax.reduce_xor, lax.bitwise_xor, 0, logical=True)
)
bitwise_and = _of(bitwise.bitwise_and, -1, reduce=_bitwise(lax.reduce_and, lax.bitwise_and, -1))
bitwise_or = _of(bitwise.bitwise_or, 0, reduce=_bitwise(lax.reduce_or, lax.bitwise_or, 0))
bitwise_xor = _of(bitwise.bitwise_xor, 0, reduce=_bitwise(lax.reduce_xor, lax.bitwise_xor, 0))
logaddexp = _of(exponential.logaddexp, -np.inf)
logaddexp2 = _of(exponential.logaddexp2, -np.inf)
