"""Whether rounding explains the difference of two results of one program.

Equal bits pass at once. Otherwise the program runs again with noise in every primitive that rounds. Each element may
differ by a multiple of its change under noise, and by a few units in the last place. An integer, a bool, a nan or an
infinity that no noise changes must be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from plugjax.testing.fuzz.run import Arrays, Result

UNITS, SPREADS = 16, 6


@dataclass(frozen=True)
class Difference:
    """The fault of a result.

    Args:
        kind: ``wrong``, ``shape``, ``dtype`` or ``weak type``.
        finite: whether all wrong elements are finite.
    """

    kind: str
    position: int
    text: str
    finite: bool = True


def compare(
    found: Result, expected: Result, noisy: Callable[[], Iterable[Arrays]]
) -> Difference | None:
    """The first difference that rounding does not explain.

    ``noisy`` gives results of runs with noise, one after the other; it is called when something differs, and left when all
    is explained.
    """
    pairs = list(zip(found.arrays, expected.arrays, strict=True))
    for i, (a, b) in enumerate(pairs):
        if a.shape != b.shape:
            return Difference("shape", i, f"{a.shape}, expected {b.shape}")
        if a.dtype != b.dtype:
            return Difference("dtype", i, f"{a.dtype}, expected {b.dtype}")
        if found.weak[i] != expected.weak[i]:
            return Difference(
                "weak type", i, f"weak_type={found.weak[i]}, expected {expected.weak[i]}"
            )
    bad = {i: mask for i, (a, b) in enumerate(pairs) if (mask := _differs(a, b, [])).any()}
    if not bad:
        return None
    runs: list[Arrays] = []
    for run in noisy():
        runs.append(run)
        masks = {i: _differs(*pairs[i], [each[i] for each in runs]) for i in bad}
        bad = {i: mask for i, mask in masks.items() if mask.any()}
        if not bad:
            return None
    i, mask = min(bad.items())
    a, b = pairs[i]
    place = tuple(np.argwhere(mask)[0].tolist())
    text = f"{a.dtype}{list(a.shape)} at {list(place)}: {a[place]}, expected {b[place]}; {int(mask.sum())} of {mask.size}"
    finite = bool(np.all(np.isfinite(a[mask].astype(np.complex128))))
    return Difference("wrong", i, text, finite)


def _differs(a: Any, b: Any, runs: list[Any]) -> Any:
    """Mask of the elements that differ by more than rounding."""
    if b.dtype.kind == "c":
        return _complex_differs(a, b, runs)
    if b.dtype.kind in "biu":
        different = np.asarray(a != b)
        for run in runs:
            different &= np.asarray(run == b)
        return different
    info = ml_dtypes.finfo(b.dtype)
    return _floats_differ(a, b, runs, float(info.eps), float(info.tiny))


def _floats_differ(a: Any, b: Any, runs: list[Any], eps: float, tiny: float) -> Any:
    wide = [np.asarray(run).astype(np.float64) for run in (a, b, *runs)]
    x, y, others = wide[0], wide[1], np.stack([wide[1], *wide[2:]])
    with np.errstate(all="ignore"):
        finite = np.isfinite(others)
        spread = np.where(finite, others, -np.inf).max(0) - np.where(finite, others, np.inf).min(0)
        spread = np.where(finite.any(0), spread, 0.0)
        close = np.abs(x - y) <= UNITS * eps * np.abs(y) + SPREADS * spread + tiny
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        # Elements that some run makes nan or infinite may have any value.
        steady = np.all(np.isnan(others) == np.isnan(others[0]), 0)
        steady &= np.all(np.where(finite, 0, others) == np.where(finite[0], 0, others[0]), 0) | np.isnan(others[0])  # fmt: skip
        return ~(same | (close & np.isfinite(x) & np.isfinite(y))) & steady


def _complex_differs(a: Any, b: Any, runs: list[Any]) -> Any:
    # A component is as exact as the modulus allows.
    info = np.finfo(b.dtype)
    eps, tiny = float(info.eps), float(info.tiny)
    with np.errstate(all="ignore"):
        modulus = UNITS * eps * np.where(np.isfinite(np.abs(b)), np.abs(b), 0)
        close = np.abs(a - b) <= modulus + tiny
    parts = [
        _floats_differ(part(a), part(b), [part(run) for run in runs], eps, tiny)
        for part in (np.real, np.imag)
    ]
    # Formulas of products differ in how infinities and nans of one component reach the other.
    close |= ~np.isfinite(a) & ~np.isfinite(b)
    if runs:
        with np.errstate(all="ignore"):
            spread = np.max([np.abs(run - b) for run in runs], axis=0)
            close |= np.abs(a - b) <= modulus + 2 * SPREADS * np.where(
                np.isfinite(spread), spread, 0
            )
    return (parts[0] | parts[1]) & ~close
