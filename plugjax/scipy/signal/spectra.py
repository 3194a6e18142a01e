"""Spectra of segments: the short-time Fourier transform, and spectral densities as means over segments (Welch 1967).

A signal is cut into overlapping segments; each is detrended, multiplied by a window and transformed. The product of one
signal's spectrum, conjugated, with another's is their cross-spectrum, and with its own its power.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import plugjax.numpy as jnp
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DType
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import ArrayLike, Operand, converted, same_dtype
from plugjax.scipy.signal.segments import cut
from plugjax.scipy.signal.trends import detrend as without_trend
from plugjax.scipy.signal.windows import window_array

Detrend: TypeAlias = bool | str | Callable[[Any], Any]
WindowLike: TypeAlias = str | tuple[Any, ...] | ArrayLike

_EXTENSIONS: dict[str | None, dict[str, str]] = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {"mode": "constant"},
    None: {},
}


class _Segments(NamedTuple):
    """The segmentation of a signal, and the window."""

    window: Any
    size: int
    step: int
    fft_size: int


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: WindowLike = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """Short-time Fourier transform: the spectrum of each of a signal's segments.

    Units:
        fs: samples per unit of time; frequencies are in cycles per unit of time.

    Args:
        x: the signal.
        fs: sampling frequency.
        window: values, a name as in ``scipy.signal.get_window``, or a name with parameters.
        nperseg: samples in a segment.
        noverlap: samples that neighbours share; half a segment by default.
        nfft: size of the transforms, at least that of a segment, which is padded with zeros.
        detrend: ``"constant"`` or ``"linear"`` as of :func:`detrend`, a function of segments ``[..., count, size]``, or
            ``False``.
        return_onesided: return the frequencies from 0 up only; complex signals always have all.
        boundary: extension of the signal by half a segment at both ends: ``"zeros"``, ``"even"``, ``"odd"``,
            ``"constant"``, or ``None`` for no extension.
        padded: add zeros at the end, so that the last segment is full.
        axis: along which.

    Returns:
        Frequencies, times of the middles of segments, and spectra, with frequencies along ``axis`` and times last.

    Raises:
        ValueError: sizes that do not fit, or an unknown word.

    Differs from JAX:
        A function given as ``detrend`` gets segments with time along their last axis, as in SciPy.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import stft
        >>> frequencies, times, spectra = stft(jnp.ones(8), nperseg=4)
        >>> frequencies, abs(spectra[:, 2])
        (Array([0.  , 0.25, 0.5 ], dtype=float32), Array([1. , 0.5, 0. ], dtype=float32))
    """
    frequencies, times, spectra = _spectra(
        "stft",
        [x],
        _Cut(fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis),
        "spectrum",
        boundary,
        padded,
    )
    return frequencies, times, spectra


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: WindowLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Density of the cross power spectrum of two signals, by Welch's method.

    Args:
        x: a signal.
        y: another one, whose other axes broadcast with those of ``x``; the shorter is padded with zeros. ``None`` for
            ``x`` itself: the result is then real.
        fs: sampling frequency.
        window: values, a name as in ``scipy.signal.get_window``, or a name with parameters.
        nperseg: samples in a segment; by default those of the window's values, or of the whole signal.
        noverlap: samples that neighbours share; half a segment by default.
        nfft: size of the transforms, at least that of a segment.
        detrend: ``"constant"``, ``"linear"``, a function of segments, or ``False``; see :func:`stft`.
        return_onesided: return the frequencies from 0 up only, with the power of both halves.
        scaling: ``"density"`` for power per frequency, ``"spectrum"`` for power.
        axis: along which.
        average: over segments: ``"mean"`` or ``"median"``.

    Returns:
        Frequencies, and the density, with frequencies along ``axis``.

    Raises:
        ValueError: shapes or sizes that do not fit, or an unknown word.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import csd
        >>> x = jnp.array([1.0, 0.0, -1.0, 0.0])
        >>> csd(x, jnp.roll(x, 1), window=jnp.ones(4))[1]
        Array([0.+0.j, 0.-2.j, 0.+0.j], dtype=complex64)
    """
    frequencies, _, found = _spectra(
        "csd",
        [x] if y is None else [x, y],
        _Cut(fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis),
        scaling,
        None,
        False,
        power=True,
    )
    if found.ndim < 2 or not found.size:
        return frequencies, found
    if found.shape[-1] == 1:
        return frequencies, found[..., 0]
    if average == "mean":
        return frequencies, found.mean(-1)
    if average != "median":
        raise ValueError(f"csd: average is 'mean' or 'median', got {average}.")
    if y is None:
        middle = jnp.median(found, -1)
    else:
        middle = jnp.median(found.real, -1) + 1j * jnp.median(found.imag, -1)
    return frequencies, middle / _median_bias(found.shape[-1])


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: WindowLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Power spectral density of a signal, by Welch's method; arguments as of :func:`csd`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import welch
        >>> frequencies, density = welch(jnp.array([1.0, 0.0, -1.0, 0.0]), window=jnp.ones(4))
        >>> density
        Array([0., 2., 0.], dtype=float32)
    """
    return csd(
        x,
        None,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        average,
    )


def _median_bias(count: int) -> float:
    """Median over mean of ``count`` exponentially distributed values (Allen et al. 2012, "FINDCHIRP", appendix B)."""
    even = np.arange(2.0, count, 2)
    return float(1 + np.sum(1 / (even + 1) - 1 / even))


class _Cut(NamedTuple):
    """Arguments that all functions here share."""

    fs: Any
    window: WindowLike
    nperseg: int | None
    noverlap: int | None
    nfft: int | None
    detrend: Detrend
    onesided: bool
    axis: int


def _spectra(
    who: str,
    signals: Sequence[ArrayLike],
    given: _Cut,
    scaling: str,
    boundary: str | None,
    padded: bool,
    *,
    power: bool = False,
) -> tuple[Array, Array, Array]:
    """Frequencies, times, and for each segment a spectrum, a cross-power or a power."""
    if boundary not in _EXTENSIONS:
        raise ValueError(f"{who}: boundary is one of {list(_EXTENSIONS)}, got {boundary!r}.")
    xs = same_dtype(who, *signals, inexact=True)
    dtype = xs[0].dtype
    whole = np.result_type(dtype, np.complex64)
    half = np.zeros((), whole).real.dtype
    if len({x.ndim for x in xs}) > 1:
        raise ValueError(f"{who}: signals must have the same rank, got {[x.shape for x in xs]}")
    axis = canonical_axis(operator.index(given.axis), xs[0].ndim)
    outer = jnp.broadcast_shapes(*[x.shape[:axis] + x.shape[axis + 1 :] for x in xs])
    segments = _segments(given, xs[0].shape[axis], dtype)
    if not all(x.size for x in xs):
        size = min(x.shape[axis] for x in xs)
        shape = (*outer[:axis], size, *outer[axis:])
        empty = jnp.zeros(shape, half)
        return empty, empty, empty if power and len(xs) == 1 else jnp.zeros(shape, whole)
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"{who}: scaling is 'density' or 'spectrum', got {scaling!r}.")
    if segments.fft_size < segments.size:
        raise ValueError("nfft is below nperseg.")
    if segments.step < 1:
        raise ValueError("noverlap needs to be below nperseg.")
    if np.iscomplexobj(given.fs):
        raise TypeError(f"{who}: fs counts samples per unit of time, got {given.fs!r}.")
    length = max(x.shape[axis] for x in xs)
    xs = [_extended(jnp.moveaxis(x, axis, -1), length, segments, boundary, padded) for x in xs]
    onesided = given.onesided
    if onesided and dtype.kind == "c":
        onesided = False
        warnings.warn(
            f"{who}: complex signals have spectra of both sides, so return_onesided=False.",
            stacklevel=3,
        )
    remove = _trend_remover(given.detrend, given.axis)
    found = [
        _transformed(remove(cut(x, segments.size, segments.step)), segments, onesided) for x in xs
    ]
    window = segments.window
    if scaling == "density":
        scale = 1 / (given.fs * (window * window).sum())
    else:
        scale = 1 / window.sum() ** 2
    if not power:
        result = found[0] * jnp.sqrt(scale).astype(found[0].dtype)
    else:
        if onesided:
            # Each frequency stands for its negative too, except 0 and the highest one of an even
            # size.
            count = np.full(found[0].shape[-1], 2, half)
            count[0] = 1
            count[-1] = 1 if segments.fft_size % 2 == 0 else count[-1]
            scale = scale * count
        result = jnp.conj(found[0]) * found[-1] * jnp.asarray(scale, found[0].dtype)
    result = result.real if power and len(xs) == 1 else converted(result, whole)
    frequencies = (jnp.fft.rfftfreq if onesided else jnp.fft.fftfreq)(
        segments.fft_size, 1 / given.fs, dtype=half
    )
    return (
        frequencies,
        _times(xs[0].shape[-1], segments, boundary, given.fs, half),
        jnp.moveaxis(result, -1, axis),
    )


def _segments(given: _Cut, length: int, dtype: DType) -> _Segments:
    """Sizes, checked against one another and against the signal.

    Raises:
        ValueError: they do not fit.
    """
    size = None if given.nperseg is None else int(given.nperseg)
    if size is not None and size < 1:
        raise ValueError("nperseg needs to be 1 or more.")
    if isinstance(given.window, (str, tuple)):
        size = length if size is None else size
        if size > length:
            warnings.warn(
                f"nperseg={size} exceeds the signal's length of {length}: using nperseg={length}.",
                stacklevel=4,
            )
            size = length
        window = window_array(given.window, size, dtype)
    else:
        window = converted(window_array(given.window, 0, dtype), dtype)
        if length < window.size:
            raise ValueError("the window exceeds the signal's length.")
        if size not in (None, window.size):
            raise ValueError(
                "nperseg differs from the number of the window's values. Leave it None."
            )
        size = window.size
    overlap = size // 2 if given.noverlap is None else int(given.noverlap)
    fft_size = size if given.nfft is None else int(given.nfft)
    return _Segments(window, size, size - overlap, fft_size)


def _extended(
    x: Operand, length: int, segments: _Segments, boundary: str | None, padded: bool
) -> Any:
    def widened(y: Operand, low: int, high: int, **how: Any) -> Any:
        return jnp.pad(y, [(0, 0)] * (y.ndim - 1) + [(low, high)], **how)

    if x.shape[-1] < length:
        x = widened(x, 0, length - x.shape[-1])
    if boundary is not None:
        x = widened(x, segments.size // 2, segments.size // 2, **_EXTENSIONS[boundary])
    if padded:
        missing = -(x.shape[-1] - segments.size) % segments.step % segments.size
        x = widened(x, 0, missing)
    return x


def _trend_remover(kind: Detrend, axis: int) -> Callable[[Any], Any]:
    if isinstance(kind, str):
        return lambda segments: without_trend(segments, -1, kind)
    if callable(kind):
        if axis == -1:
            return kind
        return lambda segments: jnp.moveaxis(kind(jnp.moveaxis(segments, -1, axis)), axis, -1)
    if kind:
        raise ValueError(f"detrend is 'constant', 'linear', a function or False, got {kind!r}.")
    return lambda segments: segments


def _transformed(x: Operand, segments: _Segments, onesided: bool) -> Any:
    return (jnp.fft.rfft if onesided else jnp.fft.fft)(x * segments.window, segments.fft_size)


def _times(
    length: int, segments: _Segments, boundary: str | None, fs: ArrayLike, dtype: DType
) -> Any:
    """Middles of segments; with a boundary the signal begins half a segment later."""
    middle = segments.size / 2
    first = 0 if boundary is not None else middle
    count = (length - segments.size) // segments.step + 1
    return jnp.asarray((first + segments.step * np.arange(count)).astype(dtype)) / fs
