"""Overlapping segments of a signal, and signals from such segments.

Cutting and adding are transposes of each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax.numpy.promotion import Operand


def cut(x: Operand, size: int, step: int) -> Any:
    """Segments ``[..., count, size]`` that start every ``step`` elements along the last axis."""
    starts = np.arange(0, x.shape[-1] - size + 1, step)
    return x[..., starts[:, None] + np.arange(size)]


def overlap_add(x: Operand, step: int) -> Any:
    """The sum ``[..., (count - 1) * step + size]`` of overlapping segments ``[..., count, size]``."""
    *batch, count, size = x.shape
    rows = -(-size // step)

    def padded(y: Operand, axis: int, width: int) -> Any:
        return jnp.pad(y, [(0, width if i == axis % y.ndim else 0) for i in range(y.ndim)])

    # Part j of segment i belongs to part i + j of the signal. Rows of parts j, one element too
    # long, are flattened and cut again, which shifts each row by one against the row above it.
    parts = padded(x, -1, rows * step - size).reshape(*batch, count, rows, step)
    parts = padded(jnp.swapaxes(parts, -3, -2), -2, rows)
    length = count + rows - 1
    flat = parts.reshape(*batch, rows * (count + rows), step)[..., : rows * length, :]
    total = flat.reshape(*batch, rows, length * step).sum(-2)
    return total[..., : (count - 1) * step + size]
