"""Kernels of Fourier transforms: NumPy's, which compute in the precision of their operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.fft import FftType, fft_p

rules = RuleSet(__name__)

_KERNELS: dict[FftType, Any] = {
    FftType.FFT: np.fft.fftn,
    FftType.IFFT: np.fft.ifftn,
    FftType.RFFT: np.fft.rfftn,
    FftType.IRFFT: np.fft.irfftn,
}


@rules.define(impl, fft_p)
def _fft(x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    rank = len(fft_lengths)
    precise = x.dtype.itemsize == (8 if fft_type is FftType.RFFT else 16)
    if 0 in x.shape:
        last = fft_lengths[-1]
        if fft_type is FftType.RFFT:
            last = last // 2 + 1
        dtype = np.float64 if fft_type is FftType.IRFFT else np.complex128
        found = np.zeros((*x.shape[: x.ndim - rank], *fft_lengths[:-1], last), dtype)
    else:
        found = _KERNELS[fft_type](x, s=fft_lengths, axes=tuple(range(x.ndim - rank, x.ndim)))
    if precise:
        return found
    return found.astype(np.float32 if found.dtype.kind == "f" else np.complex64, copy=False)
