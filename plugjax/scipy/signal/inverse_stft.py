"""The inverse of the short-time Fourier transform.

Segments are multiplied by the window again, and overlapping ones are added; the sum is divided by that of the windows'
squares. This is the signal whose spectra differ least from the given ones (Griffin and Lim 1984).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax.extend.core import Array
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import ArrayLike, as_operand, converted
from plugjax.scipy.signal.segments import overlap_add
from plugjax.scipy.signal.windows import window_array


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | tuple[Any, ...] | ArrayLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """The signal with given spectra of its segments: the inverse of :func:`stft`.

    Args:
        Zxx: the spectra.
        fs: sampling frequency.
        window: as in :func:`stft`.
        nperseg: samples in a segment; by default the even number that fits the frequencies.
        noverlap: samples that neighbours share; half a segment by default.
        nfft: size of the transforms.
        input_onesided: whether the frequencies are those from 0 up only.
        boundary: whether the signal was extended at its ends; half a segment is then cut off.
        time_axis: axis of times.
        freq_axis: axis of frequencies.

    Returns:
        Times, and the signal.

    Raises:
        ValueError: fewer than two axes, or sizes that do not fit.

    Differs from JAX:
        Segments may have an odd size, and ``noverlap=0`` is no overlap, as in SciPy.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import istft, stft
        >>> spectra = stft(jnp.arange(6.0), nperseg=4)[2]
        >>> istft(spectra)[1].round(3)
        Array([0., 1., 2., 3., 4., 5.], dtype=float32)
    """
    x = as_operand("istft", Zxx)
    if x.ndim < 2:
        raise ValueError("istft: Zxx needs an axis of frequencies and an axis of times.")
    frequencies = canonical_axis(operator.index(freq_axis), x.ndim)
    times = canonical_axis(operator.index(time_axis), x.ndim)
    if frequencies == times:
        raise ValueError("istft: freq_axis and time_axis are one. Give two axes.")
    x = converted(x, np.result_type(x.dtype, np.complex64))
    count = x.shape[frequencies]
    natural = 2 * (count - 1) if input_onesided else count
    size = natural if nperseg is None else int(nperseg)
    if size < 1:
        raise ValueError("istft: nperseg needs to be 1 or more.")
    if nfft is not None:
        fft_size = int(nfft)
    else:
        fft_size = size if input_onesided and size == natural + 1 else natural
    if fft_size < size:
        raise ValueError(f"istft: nfft ({fft_size}) is below nperseg ({size}).")
    overlap = size // 2 if noverlap is None else int(noverlap)
    if overlap >= size:
        raise ValueError("istft: noverlap needs to be below nperseg.")
    step = size - overlap

    x = jnp.moveaxis(x, (times, frequencies), (-2, -1))
    segments = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(x, fft_size)[..., :size]
    weights = window_array(window, size, segments.dtype)
    if weights.shape != (size,):
        raise ValueError(f"istft: the window needs {size} values.")
    signal = overlap_add(segments * (weights * weights.sum()), step)
    norm = overlap_add(jnp.broadcast_to(weights * weights, segments.shape[-2:]), step)
    if boundary:
        cut = slice(size // 2, -(size // 2))
        signal, norm = signal[..., cut], norm[cut]
    signal = signal / jnp.where(norm > 1e-10, norm, 1)
    if signal.ndim > 1:
        signal = jnp.moveaxis(signal, -1, times - (frequencies < times))
    places = np.arange(signal.shape[0]).astype(np.zeros((), signal.dtype).real.dtype)
    return jnp.asarray(places) / fs, signal
