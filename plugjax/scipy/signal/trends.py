"""Removal of trends: means and least-squares lines."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax.extend.core import Array
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import ArrayLike, Operand, to_inexact


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray[Any, Any] = 0,
    overwrite_data: None = None,
) -> Array:
    """A signal without its mean, or without lines fitted to pieces of it.

    Args:
        data: the signal.
        axis: along which.
        type: ``"constant"`` removes the mean, ``"linear"`` lines.
        bp: breakpoints between lines.
        overwrite_data: only ``None``.

    Raises:
        ValueError: another type, or a breakpoint outside of the signal.
        NotImplementedError: ``overwrite_data`` was given.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import detrend
        >>> detrend(jnp.array([1.0, 4.0, 1.0]))
        Array([-1.,  2., -1.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError(
            "detrend: arrays are immutable, so overwrite_data has no meaning."
        )
    if type not in ("constant", "linear"):
        raise ValueError("detrend: type is 'linear' or 'constant'.")
    x = to_inexact("detrend", jnp.asarray(data))
    axis = canonical_axis(operator.index(axis), x.ndim)
    if type == "constant":
        return x - x.mean(axis, keepdims=True)
    ends = np.unique([0, *np.ravel(bp), x.shape[axis]])
    if ends[0] < 0 or ends[-1] > x.shape[axis]:
        raise ValueError("detrend: breakpoints lie between 0 and the size of the axis.")
    x = jnp.moveaxis(x, axis, -1)
    pieces = [_without_line(x[..., i:j]) for i, j in pairwise(ends.tolist())]
    return jnp.moveaxis(jnp.concatenate(pieces, -1) if pieces else x, -1, axis)


def _without_line(x: Operand) -> Any:
    # Centered times are orthogonal to the constant, so mean and slope separate.
    size = x.shape[-1]
    times = np.arange(size) - (size - 1) / 2
    line = (times / (np.sqrt(times @ times) or 1)).astype(x.dtype)
    x = x - x.mean(-1, keepdims=True)
    return x - (x * line).sum(-1, keepdims=True) * line
