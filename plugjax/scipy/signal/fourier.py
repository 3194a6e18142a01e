"""Convolution by Fourier transform: products of spectra, at a size that prevents wrap-around."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.core import Array
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import ArrayLike, same_dtype

MODES = ("full", "same", "valid")


def check_mode(mode: str) -> None:
    """Raise unless ``mode`` names a part of a convolution.

    Raises:
        ValueError: the mode is unknown.
    """
    if mode not in MODES:
        raise ValueError(f"mode is one of {list(MODES)}, got {mode!r}.")


def contains(outer: Sequence[int], inner: Sequence[int]) -> bool:
    """Whether no size of the second shape exceeds that of the first."""
    return all(m >= n for m, n in zip(outer, inner, strict=True))


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Array:
    """Convolution along all or some axes, by Fourier transform.

    Args:
        in1: the array.
        in2: the other array, of the same rank.
        mode: ``"full"``, ``"same"`` (the central part, as large as ``in1``), or ``"valid"`` (complete overlap).
        axes: along which; the others must have equal sizes. All by default.

    Raises:
        ValueError: ranks or sizes that do not fit, or an unknown mode.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import fftconvolve
        >>> fftconvolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0])).round(3)
        Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = same_dtype("fftconvolve", in1, in2, inexact=True)
    if x.ndim != y.ndim:
        raise ValueError("fftconvolve: in1 and in2 need one rank.")
    check_mode(mode)
    along = _axes(axes, x.ndim)
    for i in set(range(x.ndim)) - set(along):
        if x.shape[i] != y.shape[i]:
            raise ValueError(
                f"fftconvolve: shapes {x.shape} and {y.shape} differ along axis {i}, which is not among axes={along}"
            )
    sizes_x, sizes_y = [x.shape[i] for i in along], [y.shape[i] for i in along]
    if mode == "valid" and not contains(sizes_x, sizes_y):
        if not contains(sizes_y, sizes_x):
            raise ValueError(
                "fftconvolve with mode='valid': either in1 or in2 needs to be the larger one along all axes."
            )
        x, y, sizes_x, sizes_y = y, x, sizes_y, sizes_x
    full = [m + n - 1 for m, n in zip(sizes_x, sizes_y, strict=True)]
    wanted = {
        "full": full,
        "same": sizes_x,
        "valid": [m - n + 1 for m, n in zip(sizes_x, sizes_y, strict=True)],
    }[mode]
    result = _product(x, y, full, along)
    for i, size, all_of_it in zip(along, wanted, full, strict=True):
        start = (all_of_it - size) // 2
        result = lax.slice_in_dim(result, start, start + size, axis=i)
    return result


def _axes(axes: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(rank))
    given = axes if isinstance(axes, Sequence) else [operator.index(axes)]
    return tuple(dict.fromkeys(canonical_axis(i, rank) for i in given))


def _product(x: Any, y: Any, full: Sequence[int], along: tuple[int, ...]) -> Any:
    if all(1 in (x.shape[i], y.shape[i]) for i in along):
        return x * y
    if x.dtype.kind == "c":
        spectrum = jnp.fft.fftn(x, full, along) * jnp.fft.fftn(y, full, along)
        return jnp.fft.ifftn(spectrum, full, along)
    spectrum = jnp.fft.rfftn(x, full, along) * jnp.fft.rfftn(y, full, along)
    return jnp.fft.irfftn(spectrum, full, along)
