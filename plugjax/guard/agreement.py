"""Whether two results agree up to rounding errors.

Floating values may differ by the rounding errors of their dtype, which grow with the square root of the longest sum.
Beyond that they may differ as much as the reference changes when every value in it moves by an ulp. Integers and bools
must be equal, unless such a move changes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from ml_dtypes import finfo

from plugjax.extend import dtypes

Values = Sequence[np.ndarray[Any, Any]]

# In ulps: the error of elementary functions and the effect of the order of short sums.
_ULPS = {1: 2.0, 2: 8.0, 4: 64.0, 8: 256.0}
_TIMES_NOISE = 16.0


def relative_tolerance(dtype: np.dtype[Any], longest_sum: int) -> float:
    """The relative error that a dtype allows."""
    width = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    # Narrow floats are added in float32.
    growth = math.sqrt(longest_sum) if width > 2 else 1.0
    return _ULPS[width] * float(finfo(dtype).eps) * growth


def disagreements(
    found: Values, expected: Values, longest_sum: int
) -> dict[int, np.ndarray[Any, Any]]:
    """For each result that differs, a mask of the differing elements."""
    masks = {}
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        mask = _differs(x, y, longest_sum)
        if mask.any():
            masks[i] = mask
    return masks


def _differs(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], longest_sum: int) -> Any:
    if not dtypes.is_inexact(y.dtype):
        return np.asarray(x != y)
    tolerance = relative_tolerance(y.dtype, longest_sum)
    if _are_close_at_a_glance(x, y, tolerance):
        return np.zeros(y.shape, bool)
    a, b = _wide(x), _wide(y)
    with np.errstate(all="ignore"):
        magnitude = np.abs(b)
        finite = magnitude[np.isfinite(magnitude)]
        scale = float(finite.max()) if finite.size else 0.0
        # Processors flush subnormal numbers to zero.
        allowed = tolerance * np.maximum(magnitude, scale) + float(finfo(y.dtype).tiny)
        close = np.abs(a - b) <= allowed
        return np.asarray(~(close | (a == b) | (np.isnan(a) & np.isnan(b))))


def _are_close_at_a_glance(
    x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], tolerance: float
) -> bool:
    """Whether the largest difference is small beside the largest element.

    This quick test suffices for most results: they are finite and agree.
    """
    if not y.size or y.dtype.kind != "f":
        return not y.size
    with np.errstate(all="ignore"):
        scale = max(float(y.max()), -float(y.min()))
        difference = np.subtract(x, y)
        largest = max(float(difference.max()), -float(difference.min()))
        return bool(np.isfinite(scale) and largest <= 0.5 * tolerance * scale)


def explained(
    masks: dict[int, np.ndarray[Any, Any]], found: Values, expected: Values, moved: Sequence[Values]
) -> bool:
    """Whether noise explains all disagreements.

    Args:
        masks: from :func:`disagreements`.
        found: the results in question.
        expected: those of the reference.
        moved: those of the reference with noise, several times.
    """
    return all(
        _explained(mask, found[i], expected[i], [values[i] for values in moved])
        for i, mask in masks.items()
    )


def _explained(
    mask: np.ndarray[Any, Any], x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], moved: Values
) -> bool:
    if not dtypes.is_inexact(y.dtype):
        # A choice between close values: either choice is right.
        changes = sum(int((z != y).sum()) for z in moved)
        return int(mask.sum()) <= 2 * changes
    a, b = _wide(x)[mask], _wide(y)[mask]
    with np.errstate(all="ignore"):
        distances = np.stack([np.abs(_wide(z)[mask] - b) for z in moved])
        reach = np.where(np.isnan(distances), np.inf, distances).max(0)
        everywhere = float(np.median(reach)) if reach.size else 0.0
        return bool((np.abs(a - b) <= _TIMES_NOISE * np.maximum(reach, everywhere)).all())


def _wide(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
