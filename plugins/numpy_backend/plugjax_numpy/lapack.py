"""LAPACK and BLAS through SciPy, matrix by matrix, and the dtypes they take.

Routines take one matrix in Fortran order, and copy others; the transpose of ours is in that order. Leading axes are a loop here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from plugjax_numpy.kernels import Value

# By the characters of NumPy's dtypes, which are read in no time.
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


@cache
def _scipy_linalg() -> Any:
    import scipy.linalg  # noqa: PLC0415  # a named lazy-loading point: SciPy takes 0.2 s to import

    return scipy.linalg


@cache
def routine(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The routine for a dtype.

    Args:
        name: of the routine without the letter of the dtype, such as ``"getrf"``; real and complex names, such as
            ``"orgqr ungqr"``, if they differ.
        dtype: a dtype of LAPACK.
    """
    real, *rest = name.split()
    chosen = _LETTERS[dtype.char] + (rest[0] if rest and dtype.kind == "c" else real)
    scipy = _scipy_linalg()
    found = getattr(scipy.lapack, chosen, None) or getattr(scipy.blas, chosen)
    called: Callable[..., Any] = found
    return called


def wide(x: Value) -> Value:
    """An operand in a dtype of LAPACK: small floats become float32."""
    return x if x.dtype.char in _LETTERS else np.asarray(x, np.float32)


def each(
    function: Callable[..., Any], batch: tuple[int, ...], outs: list[Value], *operands: Value
) -> list[Value]:
    """Fill results from a function of single matrices.

    Args:
        function: from one matrix or vector of every operand to a tuple of results.
        batch: the leading axes, of operands and results.
        outs: arrays to fill.
        *operands: arrays.
    """
    if not batch:
        for out, result in zip(outs, function(*operands), strict=True):
            out[...] = result
        return outs
    for index in np.ndindex(*batch):
        for out, result in zip(outs, function(*(x[index] for x in operands)), strict=True):
            out[index] = result
    return outs


def failed(outs: tuple[Value, ...]) -> tuple[Value, ...]:
    """Results of a failed factorization: nan, in the shapes of the given arrays."""
    return tuple(np.full(x.shape, np.nan, x.dtype) for x in outs)
