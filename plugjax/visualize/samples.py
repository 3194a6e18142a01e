"""A small part of an array's values, for pictures and statistics: gigabytes are neither copied nor fetched from a device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.extend.core import Array
from plugjax.extend.dtypes import is_extended

# Elements that are looked at, and bytes up to which a whole array is fetched.
_MOST, _SMALL = 1 << 16, 1 << 20


@dataclass(frozen=True)
class Sample:
    """Values of an array on the host.

    Attributes:
        values: the elements that were taken, in an array of the same rank; floating, complex or integer as NumPy knows them.
        of: number of elements of the array.
        about: what part it is, if it is not the whole array.
    """

    values: np.ndarray[Any, Any]
    of: int
    about: str = ""

    @property
    def whole(self) -> bool:
        """Whether all elements are there."""
        return self.values.size == self.of


def sample(x: Array) -> Sample | None:
    """Up to 65,536 elements of an array, evenly spaced; ``None`` if there are no values to look at.

    Of an array over several devices that is large or whose other parts belong to other processes, the part on the first
    device of this process stands for it.
    """
    if x.is_deleted() or is_extended(x.dtype) or x.dtype.kind not in "biufcV":
        return None
    part, about = x, ""
    if not x.is_fully_addressable or (len(x.sharding.devices) > 1 and x.nbytes > _SMALL):
        shards = x.addressable_shards
        if not shards:
            return None
        part, about = shards[0].data, f"the part on {shards[0].device}"
    steps = _steps(part.shape)
    every = tuple(slice(None, None, step) for step in steps)
    if max(steps, default=1) > 1 and not _on_host(part):
        # The device takes the elements, so that only they are fetched.
        values = np.asarray(part[every])
    else:
        values = np.asarray(part)[every]
    found = Sample(_known(values), x.size)
    if not found.whole:
        words = f"{found.values.size:,} of {found.of:,} elements"
        about = f"{words}, {about}" if about else words
    return Sample(found.values, found.of, about)


def _on_host(x: Array) -> bool:
    return all(device.host_visible for device in x.sharding.devices)


def _steps(shape: Sequence[int]) -> list[int]:
    """How far apart elements are along each axis, so that there are few enough."""
    steps = [1] * len(shape)
    kept = list(shape)
    while math.prod(kept) > _MOST:
        axis = max(range(len(kept)), key=kept.__getitem__)
        steps[axis] *= 2
        kept[axis] = -(-shape[axis] // steps[axis])
    return steps


def _known(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """In a dtype that NumPy computes with: bfloat16 and its like become float32."""
    return values.astype(np.float32) if values.dtype.kind == "V" else values


def statistics(found: Sample) -> list[tuple[str, str]]:
    """Pairs of name and value: of finite elements, with the numbers of those that are not finite and of zeros."""
    values = found.values
    if not values.size:
        return [("elements", "none")]
    if values.dtype.kind == "b":
        return [
            ("true", f"{np.count_nonzero(values):,}"),
            ("false", f"{np.count_nonzero(~values):,}"),
        ]
    measured = np.abs(values) if values.dtype.kind == "c" else values
    measured = measured.astype(np.float64)
    finite = measured[np.isfinite(measured)]
    rows = []
    if finite.size:
        of = "|x| " if values.dtype.kind == "c" else ""
        for name, function in (
            ("min", np.min),
            ("max", np.max),
            ("mean", np.mean),
            ("std", np.std),
        ):
            with np.errstate(over="ignore", invalid="ignore"):
                rows.append((of + name, f"{function(finite):.6g}"))
    rows.append(("zeros", f"{np.count_nonzero(values == 0):,}"))
    for name, count in (("nan", np.isnan(measured).sum()), ("inf", np.isinf(measured).sum())):
        if count:
            rows.append((name, f"{count:,}"))
    return rows


__all__ = ["Sample", "sample", "statistics"]
