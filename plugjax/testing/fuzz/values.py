"""Values of inputs: ordinary ones, and those at which implementations differ."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from plugjax.testing.fuzz.program import Aval, numpy_dtype


def special_floats(dtype: str) -> list[float]:
    """Zeros, infinities, nan, subnormals, the largest, halves and integers of both signs."""
    info = ml_dtypes.finfo(numpy_dtype(dtype))
    edges = [float(info.max), float(info.tiny), float(info.smallest_subnormal), float(info.eps)]
    positive = [0.0, np.inf, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, np.pi, *edges]
    return [*positive, *(-x for x in positive), np.nan]


def special_integers(dtype: str) -> list[int]:
    """The ends of the range and small numbers of both signs."""
    info = np.iinfo(dtype)
    near = [
        0,
        1,
        2,
        3,
        7,
        -1,
        -2,
        -3,
        int(info.max),
        int(info.max) - 1,
        int(info.min),
        int(info.min) + 1,
    ]
    return [n for n in near if info.min <= n <= info.max]


def draw_values(rng: np.random.Generator, aval: Aval, special: bool) -> list[str]:
    """Elements of an array, as Python literals; half of them special values of the dtype if ``special``."""
    if aval.kind == "b":
        return [str(bool(b)) for b in rng.integers(2, size=aval.size)]
    if aval.kind in "iu":
        info = np.iinfo(aval.dtype)
        low, high = max(-6, int(info.min)), 7
        numbers = [int(n) for n in rng.integers(low, high, aval.size)]
        table = special_integers(aval.dtype)
        return [
            str(table[rng.integers(len(table))] if special and rng.random() < 0.5 else n)
            for n in numbers
        ]
    if aval.kind == "c":
        part = Aval("float32" if aval.dtype == "complex64" else "float64", aval.shape)
        pairs = zip(draw_values(rng, part, special), draw_values(rng, part, special), strict=True)
        return [f"complex({re}, {im})" for re, im in pairs]
    return [repr(float(x)) for x in _floats(rng, aval, special)]


def _floats(rng: np.random.Generator, aval: Aval, special: bool) -> np.ndarray[Any, Any]:
    # Integers and halves have ties, which sorts, maxima and their derivatives must break.
    numbers = (
        rng.integers(-6, 7, aval.size) / 2 if rng.random() < 0.3 else rng.uniform(-3, 3, aval.size)
    )
    if special:
        table = np.array(special_floats(aval.dtype))
        numbers = np.where(rng.random(aval.size) < 0.5, rng.choice(table, aval.size), numbers)
    with np.errstate(all="ignore"):
        return numbers.astype(numpy_dtype(aval.dtype)).astype(np.float64)


def literals(array: np.ndarray[Any, Any]) -> list[str]:
    """Elements of an array as Python literals; the inverse of `Input.array`."""
    flat = np.asarray(array).ravel()
    if flat.dtype.kind == "c":
        return [f"complex({float(z.real)!r}, {float(z.imag)!r})" for z in flat]
    if flat.dtype.kind in "fV":
        return [repr(float(x)) for x in flat]
    return [repr(x) for x in flat.tolist()]
